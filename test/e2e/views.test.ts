import { expect, jest, test } from '@jest/globals';
import { VIEWS } from '../support/e2e/pages.ts';
import type { View } from '../support/e2e/pages.ts';
import { complaintsOf, securityFaults } from '../support/e2e/security-faults.ts';
import { faultsInBothLooks, htmlFaults, pageFaults } from '../support/e2e/sound-page.ts';
import { STATES } from '../support/e2e/states.ts';
import { startStage } from '../support/e2e/stage.ts';

jest.setTimeout(60_000);

const stage = startStage();

test.each(VIEWS)(
  '$name: valid HTML, nothing inline or from others, clean for axe, as wide as the screen',
  async (view) => {
    await using shown = await stage.show(view);
    expect(shown.status).toBe(view.status);
    expect(await htmlFaults(shown.html)).toEqual([]);
    expect(await securityFaults(shown)).toEqual([]);
    expect(await faultsInBothLooks(shown)).toEqual([]);
    expect(complaintsOf(shown)).toEqual([]);
  },
);

test.each(STATES)(
  '$name: nothing inline or from others, clean for axe, as wide as the screen',
  async (state) => {
    await using shown = await stage.show(state);
    expect(shown.status).toBe(state.status);
    expect(await securityFaults(shown)).toEqual([]);
    expect(await faultsInBothLooks(shown)).toEqual([]);
    expect(await shown.page.evaluate('window.pwned')).toBeUndefined();
    expect(complaintsOf(shown)).toEqual([]);
  },
);

test.each(VIEWS)('$name without JavaScript: clean for axe, as wide as a phone', async (view) => {
  await using shown = await stage.show(view, { javaScriptEnabled: false, width: 360, colorScheme: 'dark' });
  expect(await pageFaults(shown)).toEqual([]);
  expect(complaintsOf(shown)).toEqual([]);
});

test.each([
  ['<p style="color: red">', ['style="color: red" of <p>', 'violates style-src-attr: inline']],
  ['<style>p { color: red }</style>', ['inline <style>', 'violates style-src-elem: inline']],
  ['<script>window.pwned = 1</script>', ['inline <script>', 'violates script-src-elem: inline']],
  ['<img src="x" onerror="window.pwned = 1">', ['onerror="window.pwned = 1" of <img>']],
  ['<a href=" javascript:window.pwned = 1">', ['href=" javascript:window.pwned = 1" of <a>']],
  ['<img src="http://127.0.0.1:9/a.png">', ['violates img-src: http://127.0.0.1:9/a.png']],
  [
    '<img src="/nowhere.png">',
    ['Failed to load resource: the server responded with a status of 404 (Not Found)'],
  ],
])('these tests would see %s', async (markup, faults) => {
  const view = VIEWS.find(({ name }) => name === 'landing') as View;
  await using shown = await stage.show(view, {}, async (context) => {
    await context.route('**/', async (route) => {
      const response = await route.fetch();
      await route.fulfill({
        response,
        body: (await response.text()).replace('</main>', `${markup}</main>`),
      });
    });
  });
  expect(await securityFaults(shown)).toEqual(expect.arrayContaining(faults));
});

test('these tests would see a script that asks another site', async () => {
  const view = VIEWS.find(({ name }) => name === 'landing') as View;
  await using shown = await stage.show(view);
  await shown.page.evaluate(`fetch('http://127.0.0.1:9/').catch(() => {})`);
  expect(await securityFaults(shown)).toContain('violates connect-src: http://127.0.0.1:9/');
});
