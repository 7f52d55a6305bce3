import { beforeEach, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { API_PATH, WORKSPACES_PATH as LIST } from '../support/constants.ts';
import { press, send, startConsole } from '../support/e2e/console-page.ts';
import { returnToTab, sessionControls } from '../support/e2e/session-controls.ts';

const at = startConsole();

let page: Page;
let browserErrors: string[];
beforeEach(async () => {
  ({ page, browserErrors } = await at.open());
});

const stored = async () => page.evaluate('JSON.stringify({ ...sessionStorage })');

async function visitGuideAndComeBack(): Promise<void> {
  await page.getByRole('link', { name: /using the API/i }).click();
  await page.waitForURL(/guide$/);
  await page.goBack();
  await page.waitForURL(/console$/);
}

test('the form still contains the draft when the user comes back from the guide', async () => {
  await page.getByLabel('Method', { exact: true }).selectOption('Other…');
  await page.getByText('Headers', { exact: true }).first().click();
  await page.getByText('Body', { exact: true }).first().click();
  await page.getByLabel('Path').fill(`${API_PATH}?a=b`);
  await press(page, 'Add parameter');
  const values = {
    'Other method': 'PROPPATCH',
    'Name of the header': 'X-Thing',
    'Value of the header': 'one',
    Body: 'a body',
  };
  const field = (label: string) => page.getByLabel(label, { exact: label === 'Body' });
  for (const [label, value] of Object.entries(values)) await field(label).fill(value);
  await page.getByLabel('Content type').selectOption('text/plain');
  await visitGuideAndComeBack();
  expect(await page.getByLabel('Path').inputValue()).toBe(API_PATH);
  expect(await page.locator('[data-preview]').innerText()).toBe(`${API_PATH}?a=b`);
  for (const [label, value] of Object.entries(values)) expect(await field(label).inputValue()).toBe(value);
  expect(await page.getByLabel('Content type').inputValue()).toBe('text/plain');
  expect(browserErrors).toEqual([]);
});

test('a parameter that the user removed is not restored with the draft', async () => {
  await press(page, 'Remove the parameter limit');
  await visitGuideAndComeBack();
  expect(await page.locator('[data-preview]').innerText()).toBe(LIST);
});

test('a sent request appears in the history and is no longer a draft', async () => {
  at.respondWith(200, {});
  await send(page, API_PATH);
  await visitGuideAndComeBack();
  expect(await page.getByLabel('Path').inputValue()).toBe(LIST);
  await page.getByRole('button', { name: `GET ${API_PATH}` }).waitFor();
});

test.each([
  [
    'the session ends',
    async () => {
      await (await sessionControls(page.context(), at.e2e.testApp)).end();
      await returnToTab(page);
      await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    },
  ],
  [
    'the user signs out',
    async () => {
      await press(page, 'Sign out');
      await page.waitForURL(`${at.e2e.testApp.origin}/`);
    },
  ],
])('a draft is deleted when %s', async (_what, end) => {
  await page.getByLabel('Path').pressSequentially('/mine');
  expect(await stored()).toContain('/mine');
  await end();
  expect(await stored()).toBe('{}');
});
