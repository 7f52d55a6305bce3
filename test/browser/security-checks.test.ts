import { expect, test } from '@jest/globals';
import type { BrowserContext } from 'playwright-core';
import { VIEWS } from '../support/e2e/pages.ts';
import type { View } from '../support/e2e/pages.ts';
import { securityViolations } from '../support/e2e/security-violations.ts';
import { pageViolations } from '../support/e2e/page-checks.ts';
import { useViewBrowser } from '../support/e2e/view-browser.ts';
import type { ShownView } from '../support/e2e/view-browser.ts';
import { eventually } from '../support/eventually.ts';

const landing = VIEWS.find(({ name }) => name === 'landing') as View;

const shownViews = useViewBrowser({ sharePage: true });

/** Waits until the browser has asynchronously reported all violations and failed requests. */
const untilReported = async ({ browserErrors }: ShownView, faults: readonly string[]) =>
  eventually(async () =>
    faults.filter((fault) => /^violates|^Failed/.test(fault)).every((fault) => browserErrors.includes(fault)),
  );

async function addToMain(context: BrowserContext, markup: string): Promise<void> {
  await context.route('**/', async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace('</main>', `${markup}</main>`);
    await route.fulfill({ response, body });
  });
}

test.each([
  ['<p style="color: red">', ['style="color: red" on <p>', 'violates style-src-attr: inline']],
  ['<style>p { color: red }</style>', ['inline <style>', 'violates style-src-elem: inline']],
  ['<script>window.pwned = 1</script>', ['inline <script>', 'violates script-src-elem: inline']],
  ['<img src="x" onerror="window.pwned = 1">', ['onerror="window.pwned = 1" on <img>']],
  ['<a href=" javascript:window.pwned = 1">', ['href=" javascript:window.pwned = 1" on <a>']],
  ['<img src="http://127.0.0.1:9/a.png">', ['violates img-src: http://127.0.0.1:9/a.png']],
  [
    '<img src="/nowhere.png">',
    ['Failed to load resource: the server responded with a status of 404 (Not Found)'],
  ],
])('the security checks detect %s', async (markup, faults) => {
  await using shown = await shownViews.show(landing, {}, async (context) => addToMain(context, markup));
  await untilReported(shown, faults);
  expect(await securityViolations(shown)).toEqual(expect.arrayContaining(faults));
});

test('the security checks detect a request to another site', async () => {
  await using shown = await shownViews.show(landing);
  await shown.page.evaluate(`fetch('http://127.0.0.1:9/').catch(() => {})`);
  const fault = 'violates connect-src: http://127.0.0.1:9/';
  await untilReported(shown, [fault]);
  expect(await securityViolations(shown)).toContain(fault);
});

test.each([true, false])(
  'the accessibility checks include noscript elements only if JavaScript is off (JavaScript: %s)',
  async (javaScriptEnabled) => {
    const markup = '<noscript><p><button></button></p></noscript>';
    await using shown = await shownViews.show(landing, { javaScriptEnabled }, async (context) =>
      addToMain(context, markup),
    );
    const faults = (await pageViolations(shown)).map((fault) => fault.split(':')[0]);
    expect(faults).toEqual(javaScriptEnabled ? [] : ['button-name']);
  },
);
