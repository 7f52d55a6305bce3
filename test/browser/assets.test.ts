import { expect, test } from '@jest/globals';
import type { BrowserContext } from 'playwright-core';
import { startE2e } from '../support/e2e/start-e2e.ts';

const e2e = startE2e();

const OTHER_VERSION = '0123456789abcdef';
const versionOf = (path: string) => /^\/assets\/([0-9a-f]{16})\//.exec(path)?.[1];

async function openConsole(prepare: (context: BrowserContext) => Promise<unknown>) {
  const watched = await e2e.openSignedIn('/console', {}, prepare);
  await watched.page.waitForLoadState('networkidle');
  return watched;
}

test('all assets that a page loads, including imported modules, have the same version', async () => {
  const requested: string[] = [];
  const { browserErrors } = await openConsole(async (context) => {
    context.on('request', (request) => {
      const { pathname } = new URL(request.url());
      if (pathname.startsWith('/assets')) requested.push(pathname);
    });
  });
  expect(requested.length).toBeGreaterThan(20);
  expect(new Set(requested.map(versionOf)).size).toBe(1);
  expect(versionOf(requested[0] ?? '')).toBeDefined();
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
