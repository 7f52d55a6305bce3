import { describe, expect, test } from '@jest/globals';
import { press, send, startConsole } from '../support/e2e/console-page.ts';
import { pageFaults } from '../support/e2e/page-checks.ts';

const at = startConsole();

describe('the console', () => {
  test.each([
    { width: 1280, colorScheme: 'light' },
    { width: 360, colorScheme: 'dark' },
  ] as const)('with an answer and a history is sound with %j', async (look) => {
    await using watched = await at.open(look);
    const { page } = watched;
    await page.getByText('Headers', { exact: true }).first().click();
    await page.getByText('Body', { exact: true }).first().click();
    await send(page);
    await page.locator('[data-response] summary').click();
    await press(page, 'Follow next');
    await page.locator('[data-history-items] li').nth(1).getByText('200').waitFor();
    await page.locator('[data-response]:not([aria-busy])').waitFor(); // it is dimmed until then
    expect(await pageFaults(watched)).toEqual([]);
    expect(watched.complaints).toEqual([]);
  });

  test.each([true, false])('leads to its guide, with JavaScript: %s', async (javaScriptEnabled) => {
    await using watched = await at.open({ javaScriptEnabled });
    await watched.page.getByRole('link', { name: /using the API/i }).click();
    await watched.page.waitForURL(/guide$/);
    expect(watched.complaints).toEqual([]);
  });

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
