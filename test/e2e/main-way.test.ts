import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { startHouse } from '../support/house.ts';
import type { House } from '../support/house.ts';
import { startChromium } from '../../scripts/chromium.mjs';

let house: House;
let chromium: Browser;

beforeAll(async () => {
  [house, chromium] = await Promise.all([startHouse(), startChromium()]);
}, 60_000);
afterAll(async () => {
  await chromium?.close();
  await house?.[Symbol.asyncDispose]();
});

/** Goes from the first page to the workspaces, as a person does who was never here. */
async function signIn(page: Page): Promise<void> {
  await page.goto(house.origin);
  await page.getByRole('link', { name: 'Sign in' }).click();
  expect(new URL(page.url()).origin).toBe(house.serviceOrigin);
  await page.getByLabel('User name').fill('demo');
  await page.getByLabel('Password').fill('demo');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForURL(`${house.origin}/workspaces`);
}

describe.each([{ javaScriptEnabled: true }, { javaScriptEnabled: false }])(
  'in Chromium with %j',
  (options) => {
    test('a person signs in, looks through the workspaces and signs out', async () => {
      const context = await chromium.newContext(options);
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
      page.on('pageerror', (error) => complaints.push(error.message));

      await signIn(page);
      const names = async () => page.getByRole('heading', { level: 2 }).allInnerTexts();
      const first = await names();
      expect(first).toHaveLength(25);

      await page.getByRole('link', { name: /next/i }).click();
      await page.waitForURL(/page=2/);
      const second = await names();
      expect(second).toHaveLength(25);
      expect(first).not.toContain(second[0]);

      await page.getByRole('link', { name: /previous/i }).click();
      await page.waitForURL((url) => url.searchParams.get('page') !== '2');
      expect(await names()).toEqual(first);

      await page.getByRole('button', { name: 'Sign out' }).click();
      await page.waitForURL(`${house.origin}/`);
      await page.goto(`${house.origin}/workspaces`);
      expect(new URL(page.url()).origin).toBe(house.serviceOrigin);
      expect(complaints).toEqual([]);
      await context.close();
    }, 60_000);
  },
);

test('a script of a page calls the API and finds no token', async () => {
  const context = await chromium.newContext();
  const page = await context.newPage();
  await signIn(page);
  const called = await page.evaluate(`(async () => {
    const answer = await fetch('/api/public/v1/workspaces?limit=2');
    const { value } = await answer.json();
    const stored = [document.cookie, ...Object.values(localStorage), ...Object.values(sessionStorage)];
    return { status: answer.status, via: answer.headers.get('via'), items: value.length, stored };
  })()`);
  expect(called).toEqual({ status: 200, via: '1.1 cloakroom', items: 2, stored: [''] });
  await context.close();
}, 60_000);

test('with a strict cookie sign-in ends signed in', async () => {
  await using strict = await startHouse({ COOKIE_SAMESITE: 'strict' });
  const context = await chromium.newContext({ javaScriptEnabled: false });
  const page = await context.newPage();
  await page.goto(`${strict.origin}/workspaces?page=2`);
  await page.getByLabel('User name').fill('demo');
  await page.getByLabel('Password').fill('demo');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Allow' }).click();
  await page.waitForURL(`${strict.origin}/workspaces?page=2`);
  expect(await page.getByRole('heading', { level: 2 }).count()).toBe(25);
  await context.close();
}, 60_000);
