import { expect, test } from '@jest/globals';
import type { BrowserContext } from 'playwright-core';
import { startE2e } from '../support/e2e/start-e2e.ts';

const e2e = startE2e();

const OTHER_VERSION = '0123456789abcdef';
const versionOf = (path: string) => /^\/assets\/([0-9a-f]{16})\//.exec(path)?.[1];

/** What a page asks for of our files. */
function askedAssets(context: BrowserContext): string[] {
  const asked: string[] = [];
  context.on('request', (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith('/assets')) asked.push(pathname);
  });
  return asked;
}

async function openConsole(prepare: (context: BrowserContext) => Promise<unknown>) {
  const watched = await e2e.openSignedIn('/console', {}, prepare);
  await watched.page.waitForLoadState('networkidle');
  return watched;
}

test('A page and all that its scripts import are of one version', async () => {
  let asked: string[] = [];
  await using watched = await openConsole(async (context) => {
    asked = askedAssets(context);
  });
  expect(asked.length).toBeGreaterThan(20);
  expect(new Set(asked.map(versionOf)).size).toBe(1);
  expect(versionOf(asked[0] ?? '')).toBeDefined();
  expect(watched.complaints).toEqual([]);
});

test('A page of another version, from a process beside this one, works with the files that are here', async () => {
  await using watched = await openConsole(async (context) =>
    context.route('**/console', async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replaceAll(/(?<="\/assets\/)\w+(?=\/)/g, OTHER_VERSION);
      await route.fulfill({ response, body });
    }),
  );
  const { page, complaints } = watched;
  expect(await page.content()).toContain(`/assets/${OTHER_VERSION}/console/console.js`);
  await page.getByRole('button', { name: 'Send', exact: true }).click();
  await page.getByRole('heading', { name: 'Response' }).waitFor();
  expect(complaints).toEqual([]);
});
