import { afterAll, beforeAll, expect, test } from '@jest/globals';
import type { Browser } from 'playwright-core';
import { startHouse } from '../support/house.ts';
import type { House } from '../support/house.ts';
import { startChromium } from '../../scripts/chromium.mjs';
import { htmlFaults, pageFaults } from '../support/e2e/sound-page.ts';
import { LOOKS, openPage } from '../support/e2e/watched-page.ts';

let house: House;
let chromium: Browser;

beforeAll(async () => {
  [house, chromium] = await Promise.all([startHouse(), startChromium()]);
}, 60_000);
afterAll(async () => {
  await chromium?.close();
  await house?.[Symbol.asyncDispose]();
});

test.each(LOOKS)('the landing page is sound with %j', async (look) => {
  await using watched = await openPage(chromium, look);
  const { page } = watched;
  await page.goto(house.origin);
  expect(await page.getByRole('link', { name: 'Sign in' }).count()).toBe(1);
  expect(await pageFaults(watched)).toEqual([]);
  expect(watched.complaints).toEqual([]);
});

test('the landing page is valid HTML', async () => {
  const answer = await fetch(house.origin);
  expect(await htmlFaults(await answer.text())).toEqual([]);
});
