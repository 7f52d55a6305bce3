import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { startHouse } from '../support/house.ts';
import type { House } from '../support/house.ts';
import { startChromium } from '../../scripts/chromium.mjs';
import { openPage, signIn } from '../support/e2e/watched-page.ts';

jest.setTimeout(60_000);

/** As they stand in a chat or among bookmarks. */
const LINKS = [
  '/workspaces',
  '/workspaces?limit=10&page=3',
  '/workspaces?page=2&find=caf%C3%A9%20%26%20%22tea%22%20%231%2B1',
  '/workspaces/workspace1234.1606/murals?limit=10&page=2',
  '/workspaces/a%2Fb%20c%3Fd/rooms?limit=5&page=1',
  '/console',
  '/workspaces/%E2%98%95?x=%252F&y=a+b&z=/auth/login?return_to=%2F',
];

let house: House;
let chromium: Browser;

beforeAll(async () => {
  [house, chromium] = await Promise.all([startHouse(), startChromium()]);
}, 60_000);
afterAll(async () => {
  await chromium?.close();
  await house?.[Symbol.asyncDispose]();
});

async function passTheService(page: Page): Promise<void> {
  expect(new URL(page.url()).origin).toBe(house.serviceOrigin);
  await page.getByLabel('User name').fill('demo');
  await page.getByLabel('Password').fill('demo');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
}

test.each(LINKS.flatMap((link) => [true, false].map((javaScriptEnabled) => ({ link, javaScriptEnabled }))))(
  'Signing in from a link comes back to just that page: %j',
  async ({ link, javaScriptEnabled }) => {
    await using watched = await openPage(chromium, { javaScriptEnabled });
    const { page } = watched;
    await page.goto(house.origin + link);
    await passTheService(page);
    await page.waitForURL((url) => url.origin === house.origin);
    expect(page.url()).toBe(house.origin + link);
  },
);

test('A service that refuses the sign-in is left for a new one, and back to the same page', async () => {
  await using watched = await openPage(chromium);
  const { page } = watched;
  await signIn(page, house);
  house.intercept = (req, res) =>
    req.url?.startsWith('/api/public/v1/workspaces') === true && Boolean(res.writeHead(403).end('{}'));
  try {
    await page.goto(`${house.origin}/workspaces?limit=10&page=1`);
    const again = page.getByRole('link', { name: 'Sign in again' });
    await again.waitFor();
    house.intercept = () => false;
    await again.click();
    await page.getByRole('button', { name: 'Allow', exact: true }).click();
    await page.waitForURL(`${house.origin}/workspaces?limit=10&page=1`);
    expect(await page.locator('[data-items] > li').count()).toBe(10);
  } finally {
    house.intercept = () => false;
  }
});
