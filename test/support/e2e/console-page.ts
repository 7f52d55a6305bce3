import type { Browser, Cookie, Locator, Page } from 'playwright-core';
import { startChromium } from '../../../scripts/chromium.mjs';
import { startHouse } from '../house.ts';
import type { House } from '../house.ts';
import { openPage, signIn } from './watched-page.ts';
import type { Look, WatchedPage } from './watched-page.ts';

/** A path that the service answers as a test says. */
export const THINGS = '/api/public/v1/things';

/** A house, a browser, and somebody who has signed in once for all tests: to go the whole way takes seconds. */
export interface ConsoleHouse extends AsyncDisposable {
  readonly house: House;
  readonly chromium: Browser;
  /** The cookies of who has signed in. */
  readonly cookies: readonly Cookie[];
  /** Opens the console, or another page, for who has signed in. */
  open(look?: Look, path?: string): Promise<WatchedPage>;
  /** Answers THINGS, and what begins with it, in the service's place. */
  answerWith(status: number, headers: Record<string, string>, body?: string | Buffer): void;
}

export async function startConsoleHouse(): Promise<ConsoleHouse> {
  const [house, chromium] = await Promise.all([startHouse(), startChromium()]);
  await using first = await openPage(chromium);
  await signIn(first.page, house);
  const cookies = await first.context.cookies();
  return {
    house,
    chromium,
    cookies,
    async open(look = {}, path = '/console') {
      const watched = await openPage(chromium, look);
      await watched.context.addCookies(cookies);
      await watched.page.goto(house.origin + path);
      return watched;
    },
    answerWith(status, headers, body = '') {
      house.intercept = (req, res) => {
        if (req.url?.startsWith(THINGS) !== true) return false;
        return Boolean(res.writeHead(status, headers).end(body));
      };
    },
    async [Symbol.asyncDispose]() {
      await chromium.close();
      await house[Symbol.asyncDispose]();
    },
  };
}

export function outcomeOf(page: Page): Locator {
  return page.locator('[data-outcome]');
}

export function bodyOf(page: Page): Locator {
  return page.getByRole('region', { name: 'Body of the answer' });
}

export async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click();
}

/** Sends what stands in the form, to `path` alone where one is given; gives the outcome in words. */
export async function send(page: Page, path?: string): Promise<string> {
  if (path !== undefined) {
    await page.getByLabel('Path').fill(path);
    const limit = page.getByRole('button', { name: 'Remove the parameter limit' });
    if (await limit.isVisible()) await limit.click();
  }
  await press(page, 'Send');
  await outcomeOf(page).filter({ hasText: /\.$/ }).waitFor(); // before it has one it ends in three
  return outcomeOf(page).innerText();
}

export async function isFocused(field: Locator): Promise<boolean> {
  return field.evaluate((element) => element === element.ownerDocument.activeElement);
}
