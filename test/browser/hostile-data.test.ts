import { expect, test } from '@jest/globals';
import { layoutDefects } from '../support/e2e/layout-defects.ts';
import { HOSTILE_TEXTS } from '../support/e2e/hostile-items.ts';
import { HOSTILE_VIEWS } from '../support/e2e/pages.ts';
import type { View } from '../support/e2e/pages.ts';
import { securityViolations } from '../support/e2e/security-violations.ts';
import { htmlViolations, pageViolations, horizontalOverflow } from '../support/e2e/page-checks.ts';
import { useViewBrowser } from '../support/e2e/view-browser.ts';
import { changeLook } from '../support/e2e/watched-page.ts';

const shownViews = useViewBrowser({ sharePage: true });

test.each(HOSTILE_VIEWS)(
  'the page "$name" shows hostile data as text and keeps its layout',
  async (view) => {
    await using shown = await shownViews.show(view);
    expect(shown.status).toBe(view.status);
    expect(await securityViolations(shown)).toEqual([]);
    expect(await htmlViolations(shown.html)).toEqual([]);
    expect(await pageViolations(shown)).toEqual([]);
    for (const width of [1280, 360] as const) {
      await changeLook(shown, { width, colorScheme: 'light' });
      expect(await layoutDefects(shown.page)).toEqual([]);
      expect(await horizontalOverflow(shown.page)).toEqual([]);
    }
  },
  120_000,
);

test('markup in names is shown literally', async () => {
  await using shown = await shownViews.show(HOSTILE_VIEWS[0] as View);
  const names = await shown.page.locator('[data-items] h2').allTextContents();
  const markup = HOSTILE_TEXTS.filter(({ text }) => /[<&$]/.test(text)).map(({ text }) => text);
  expect(markup.length).toBeGreaterThan(10);
  expect(names).toEqual(expect.arrayContaining(markup));
});

test.each([
  ['<p data-hostile>x</p>', 'text became <p class="">'],
  ['<p>abc <b>\u202Edef</b> ghi</p>', 'text could reorder its neighbours: <b class="">'],
  ['<p><img src="/assets/favicon.svg" width="3000" alt=""></p>', '<img class=""> reaches from'],
])('the layout checks detect %s', async (markup, fault) => {
  await using shown = await shownViews.show(HOSTILE_VIEWS.at(-1) as View);
  await shown.page.evaluate(`document.querySelector('main').innerHTML = ${JSON.stringify(markup)}`);
  // An image has no size until it has loaded.
  await shown.page.evaluate('Promise.all([...document.images].map((image) => image.decode()))');
  expect((await layoutDefects(shown.page)).join('\n')).toContain(fault);
});
