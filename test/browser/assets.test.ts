import { expect, test } from '@jest/globals';
import type { BrowserContext, Response } from 'playwright-core';
import { startE2e } from '../support/e2e/start-e2e.ts';

const e2e = startE2e();

const OTHER_VERSION = '0123456789abcdef';

async function openConsole(prepare: (context: BrowserContext) => Promise<unknown>) {
  const watched = await e2e.openSignedIn('/console', {}, prepare);
  await watched.page.waitForLoadState('networkidle');
  return watched;
}

test('a page loads at most 8 files, and caches may store all its assets', async () => {
  const responses: Response[] = [];
  const { browserErrors } = await openConsole(async (context) => {
    context.on('response', (response) => responses.push(response));
  });
  const ours = responses.slice(responses.findIndex((response) => response.url().endsWith('/console')));
  expect(ours.length).toBeLessThanOrEqual(8);
  const assets = ours.filter((response) => new URL(response.url()).pathname.startsWith('/assets/'));
  expect(assets.length).toBeGreaterThan(2);
  for (const asset of assets) expect(asset.headers()['cache-control']).toContain('immutable');
  expect(browserErrors).toEqual([]);
});

test('a page rendered by a different version of Cloakroom works with the assets of this version', async () => {
  const watched = await openConsole(async (context) =>
    context.route('**/console', async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replaceAll(/(?<="\/assets\/)\w+(?=\/)/g, OTHER_VERSION);
      await route.fulfill({ response, body });
    }),
  );
  const { page, browserErrors } = watched;
  expect(await page.content()).toContain(`/assets/${OTHER_VERSION}/console/console.js`);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('heading', { name: 'Response' }).waitFor();
  expect(browserErrors).toEqual([]);
});
