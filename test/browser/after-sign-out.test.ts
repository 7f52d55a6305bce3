import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startE2e } from '../support/e2e/start-e2e.ts';

// Pages that are gone back to come out of memory, as in everybody's browser.
const e2e = startE2e({}, { ignoreDefaultArgs: ['--disable-back-forward-cache'] });

const signOut = async (page: Page) => {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${e2e.testApp.origin}/`);
};

test.each([true, false])(
  'The Back button shows nothing of before a sign-out, with JavaScript: %s',
  async (javaScriptEnabled) => {
    await using watched = await e2e.openSignedIn('/workspaces', { javaScriptEnabled });
    const { page } = watched;
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
