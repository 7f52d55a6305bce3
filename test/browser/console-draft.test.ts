import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { API_PATH, WORKSPACES_PATH as LIST } from '../support/constants.ts';
import { press, send, startConsole } from '../support/e2e/console-page.ts';
import { comeBackTo, sessionOf } from '../support/e2e/session-of.ts';

const at = startConsole();

const pathOf = async (page: Page) => page.getByLabel('Path').inputValue();
const remembered = async (page: Page) => page.evaluate('JSON.stringify({ ...sessionStorage })');

/** By the page's own link, and back by the browser's button. */
async function readGuide(page: Page): Promise<void> {
  await page.getByRole('link', { name: /using the API/i }).click();
  await page.waitForURL(/guide$/);
  await page.goBack();
  await page.waitForURL(/console$/);
}

test('A request that was not sent yet is still there after a look at the guide', async () => {
  await using watched = await at.open();
  const { page } = watched;
  await page.getByLabel('Method', { exact: true }).selectOption('Other…');
  await page.getByLabel('Other method').fill('PROPPATCH');
  await page.getByLabel('Path').fill(`${API_PATH}?a=b`);
  await press(page, 'Add a parameter');
  await page.getByText('Headers', { exact: true }).first().click();
  await page.getByLabel('Name of the header').fill('X-Thing');
  await page.getByLabel('Value of the header').fill('one');
  await page.getByText('Body', { exact: true }).first().click();
  await page.getByLabel('Content type').selectOption('text/plain');
  await page.getByLabel('Body', { exact: true }).fill('a body');
  await readGuide(page);
  expect(await page.getByLabel('Other method').inputValue()).toBe('PROPPATCH');
  expect(await pathOf(page)).toBe(API_PATH);
  expect(await page.locator('[data-preview]').innerText()).toBe(`${API_PATH}?a=b`);
  expect(await page.getByLabel('Value of the header').inputValue()).toBe('one');
  expect(await page.getByLabel('Content type').inputValue()).toBe('text/plain');
  expect(await page.getByLabel('Body', { exact: true }).inputValue()).toBe('a body');
  expect(watched.complaints).toEqual([]);
});

test('One whose row was the last thing to come or go is, too', async () => {
  await using watched = await at.open();
  const { page } = watched;
  await press(page, 'Remove the parameter limit');
  await readGuide(page);
  expect(await page.locator('[data-preview]').innerText()).toBe(LIST);
});

test('One that was sent stands in the history alone', async () => {
  await using watched = await at.open();
  const { page } = watched;
  at.respondWith(200, {});
  await send(page, API_PATH);
  await readGuide(page);
  expect(await pathOf(page)).toBe(LIST);
  await page.getByRole('button', { name: `GET ${API_PATH}` }).waitFor();
});

test('One goes with the session of its reader', async () => {
  await using watched = await at.open();
  const { page, context } = watched;
  await page.getByLabel('Path').pressSequentially('/mine');
  expect(await remembered(page)).toContain('/mine');
  await (await sessionOf(context, at.e2e.testApp)).end();
  await comeBackTo(page);
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  expect(await remembered(page)).toBe('{}');
});

test('One goes with a sign-out', async () => {
  await using watched = await at.open();
  const { page } = watched;
  await page.getByLabel('Path').fill(`${LIST}/mine`);
  expect(await remembered(page)).toContain('/mine');
  await press(page, 'Sign out');
  await page.waitForURL(`${at.e2e.testApp.origin}/`);
  expect(await remembered(page)).toBe('{}');
});
