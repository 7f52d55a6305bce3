import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { VIEWS } from '../support/e2e/pages.ts';
import type { View } from '../support/e2e/pages.ts';
import { securityFaults } from '../support/e2e/security-faults.ts';
import { STATES } from '../support/e2e/states.ts';
import { openStage } from '../support/e2e/stage.ts';
import type { Stage } from '../support/e2e/stage.ts';

let stage: Stage;

beforeAll(async () => {
  stage = await openStage();
}, 60_000);
afterAll(async () => stage?.[Symbol.asyncDispose](), 60_000);

test.each([...VIEWS, ...STATES])(
  '$name: nothing inline, nothing from others, and no complaint of the browser',
  async (view) => {
    await using shown = await stage.show(view);
    expect(shown.status).toBe(view.status);
    expect(await securityFaults(shown)).toEqual([]);
  },
  60_000,
);

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
])(
  'these tests would see %s',
  async (markup, faults) => {
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
  },
  60_000,
);

test('these tests would see a script that asks another site', async () => {
  const view = VIEWS.find(({ name }) => name === 'landing') as View;
  await using shown = await stage.show(view);
  await shown.page.evaluate(`fetch('http://127.0.0.1:9/').catch(() => {})`);
  expect(await securityFaults(shown)).toContain('violates connect-src: http://127.0.0.1:9/');
}, 60_000);
