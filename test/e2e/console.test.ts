import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { press, send, startConsoleHouse } from '../support/e2e/console-page.ts';
import type { ConsoleHouse } from '../support/e2e/console-page.ts';
import { pageFaults } from '../support/e2e/sound-page.ts';
import { LOOKS } from '../support/e2e/watched-page.ts';

let at: ConsoleHouse;
beforeAll(async () => {
  at = await startConsoleHouse();
}, 60_000);
afterAll(async () => at?.[Symbol.asyncDispose]());
beforeEach(() => {
  at.house.intercept = () => false;
});

describe('the console', () => {
  test.each(LOOKS)(
    'is sound with %j',
    async (look) => {
      await using watched = await at.open(look);
      const { page } = watched;
      const faults = await pageFaults(watched);
      if (look.javaScriptEnabled) {
        await page.getByText('Headers', { exact: true }).first().click();
        await page.getByText('Body', { exact: true }).first().click();
        await send(page);
        await page.locator('[data-answer] summary').click();
        await press(page, 'Follow next');
        await page.locator('[data-past] li').nth(1).waitFor();
        faults.push(...(await pageFaults(watched)));
      }
      expect(faults).toEqual([]);
      expect(watched.complaints).toEqual([]);
    },
    60_000,
  );

  test.each(LOOKS)(
    'has a guide that is sound with %j',
    async (look) => {
      await using watched = await at.open(look);
      await watched.page.getByRole('link', { name: /calling the API/i }).click();
      await watched.page.waitForURL(/guide$/);
      expect(await pageFaults(watched)).toEqual([]);
      expect(watched.complaints).toEqual([]);
    },
    60_000,
  );

  test('shows nothing of an answer before there is one', async () => {
    await using watched = await at.open();
    expect(await watched.page.getByRole('heading').allInnerTexts()).toEqual(['Console']);
  });

  test('without JavaScript shows no form, but a call for the terminal', async () => {
    await using watched = await at.open({ javaScriptEnabled: false });
    const { page } = watched;
    expect(await page.getByLabel('Path').isVisible()).toBe(false);
    expect(await page.getByText(/curl --cookie/).isVisible()).toBe(true);
  });
});
