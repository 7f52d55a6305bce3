import { describe, expect, test } from '@jest/globals';
import { press, send, startConsole } from '../support/e2e/console-page.ts';
import { pageViolations } from '../support/e2e/page-checks.ts';

const at = startConsole();

describe('the console', () => {
  test.each([
    { width: 1280, colorScheme: 'light' },
    { width: 360, colorScheme: 'dark' },
  ] as const)('the console is accessible and fits the screen: %j', async (look) => {
    const watched = await at.open(look);
    const { page } = watched;
    await page.getByText('Headers', { exact: true }).first().click();
    await page.getByText('Body', { exact: true }).first().click();
    await send(page);
    await page.locator('[data-response] summary').click();
    await press(page, 'Next page');
    await page.locator('[data-history-items] li').nth(1).getByText('200').waitFor();
    await page.locator('[data-response]:not([aria-busy])').waitFor(); // a busy response is dimmed
    expect(await pageViolations(watched)).toEqual([]);
    expect(watched.browserErrors).toEqual([]);
  });

  test('the console shows no response before the first request', async () => {
    const { page } = await at.open();
    expect(await page.getByRole('heading').allInnerTexts()).toEqual(['Console']);
  });

  test('without JavaScript, the console shows a curl command instead of the form', async () => {
    const { page } = await at.open({ javaScriptEnabled: false });
    expect(await page.getByLabel('Path').isVisible()).toBe(false);
    expect(await page.getByText(/curl --cookie/).isVisible()).toBe(true);
  });
});
