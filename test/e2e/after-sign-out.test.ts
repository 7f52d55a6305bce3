import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { startHouse } from '../support/house.ts';
import type { House } from '../support/house.ts';
import { startChromium } from '../../scripts/chromium.mjs';
import { openPage, signIn } from '../support/e2e/watched-page.ts';

jest.setTimeout(60_000);

let house: House;
let chromium: Browser;

beforeAll(async () => {
  [house, chromium] = await Promise.all([
    startHouse(),
    // Pages that are gone back to come out of memory, as in everybody's browser.
    startChromium({ ignoreDefaultArgs: ['--disable-back-forward-cache'] }),
  ]);
}, 60_000);
afterAll(async () => {
  await chromium?.close();
  await house?.[Symbol.asyncDispose]();
});

const signOut = async (page: Page) => {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${house.origin}/`);
};

test.each([true, false])(
  'The Back button shows nothing of before a sign-out, with JavaScript: %s',
  async (javaScriptEnabled) => {
    await using watched = await openPage(chromium, { javaScriptEnabled });
    const { page } = watched;
    await signIn(page, house);
    await page.getByRole('link', { name: 'Next' }).click();
    await page.waitForURL(/page=2/);
    await signOut(page);
    for (const times of [1, 2]) {
      await page.goBack();
      expect([times, await page.locator('[data-items] > li').count()]).toEqual([times, 0]);
      expect(await page.content()).not.toContain('Workspaces');
    }
  },
);
