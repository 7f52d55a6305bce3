import type { Locator, Page } from 'playwright-core';
import { API_PATH } from '../constants.ts';
import { startE2e } from './start-e2e.ts';
import type { E2e } from './start-e2e.ts';
import type { Look, WatchedPage } from './watched-page.ts';

/** The console in Chromium. */
export interface ConsoleE2e {
  readonly e2e: E2e;
  /** Opens the console, or another page, for somebody who has signed in. */
  open(look?: Look, path?: string): Promise<WatchedPage>;
  /** Answers API_PATH, and what begins with it, in the service's place. */
  answerWith(status: number, headers: Record<string, string>, body?: string | Buffer): void;
}

/** For all tests of a file, as `startE2e`. */
export function startConsole(): ConsoleE2e {
  const e2e = startE2e({}, { inOnePage: true });
  return {
    e2e,
    open: async (look, path = '/console') => e2e.openSignedIn(path, look),
    answerWith(status, headers, body = '') {
      e2e.testApp.intercept = (req, res) => {
        if (req.url?.startsWith(API_PATH) !== true) return false;
        return Boolean(res.writeHead(status, headers).end(body));
      };
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
