import type { Locator, Page } from 'playwright-core';
import { API_PATH } from '../constants.ts';
import { startE2e } from './start-e2e.ts';
import type { Look } from './watched-page.ts';

/** Matches API_PATH and paths that begin with it. */
export const STARTS_WITH_API_PATH = new RegExp(`^${API_PATH}`);

/** Starts a test app and Chromium for all tests in a file, with helpers for the console. */
export function startConsole() {
  const e2e = startE2e({}, { sharePage: true });
  return {
    e2e,
    /** Opens the console, or another page, as a signed-in user. */
    open: async (look?: Look, path = '/console') => e2e.openSignedIn(path, look),
    /** Responds in place of the service to requests for paths that begin with API_PATH. */
    respondWith(status: number, headers: Record<string, string>, body: string | Buffer = '') {
      e2e.respondTo(STARTS_WITH_API_PATH, (res) => res.writeHead(status, headers).end(body));
    },
  };
}

export function outcomeOf(page: Page): Locator {
  return page.locator('[data-outcome]');
}

export function bodyOf(page: Page): Locator {
  return page.getByRole('region', { name: 'Response body' });
}

export async function press(page: Page, name: string): Promise<void> {
  await page.getByRole('button', { name, exact: true }).click();
}

/** Submits the form. If `path` is given, first enters `path` and removes the parameter. Resolves with the outcome as text. */
export async function send(page: Page, path?: string): Promise<string> {
  if (path !== undefined) {
    await page.getByLabel('Path').fill(path);
    const limit = page.getByRole('button', { name: 'Remove the parameter limit' });
    if (await limit.isVisible()) await limit.click();
  }
  await press(page, 'Send');
  await outcomeOf(page).filter({ hasText: /\.$/ }).waitFor(); // until there is an outcome, the text ends with an ellipsis
  return outcomeOf(page).innerText();
}

export async function isFocused(field: Locator): Promise<boolean> {
  return field.evaluate((element) => element === element.ownerDocument.activeElement);
}
