import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { startE2e } from '../support/e2e/start-e2e.ts';

// By default, Playwright launches browsers with the back/forward cache disabled.
const e2e = startE2e({}, { ignoreDefaultArgs: ['--disable-back-forward-cache'] });

const signOut = async (page: Page) => {
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${e2e.testApp.origin}/`);
};

test.each([true, false])(
  'after sign-out, the Back button shows no earlier page (JavaScript: %s)',
  async (javaScriptEnabled) => {
    const { page } = await e2e.openSignedIn('/workspaces', { javaScriptEnabled });
    await page.getByRole('link', { name: 'Next' }).click();
    await page.waitForURL(/page=2/);
    await signOut(page);
    for (const times of [1, 2]) {
      await page.goBack();
      expect([times, await page.locator('[data-items] li').count()]).toEqual([times, 0]);
      expect(await page.content()).not.toContain('Workspaces');
    }
  },
);
