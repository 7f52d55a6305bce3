import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { WORKSPACES_PATH } from '../support/constants.ts';
import { unexpectedErrors, securityViolations } from '../support/e2e/security-violations.ts';
import { violationsInBothLooks } from '../support/e2e/page-checks.ts';
import { respondsWithHostileItems, type View } from '../support/e2e/pages.ts';
import { returnToTab, sessionControls, stopClock } from '../support/e2e/session-controls.ts';
import { useViewBrowser } from '../support/e2e/view-browser.ts';
import { waitForSessionStatus, signIn } from '../support/e2e/watched-page.ts';
import type { TestApp } from '../support/test-app.ts';

/** Just under two minutes before the end of the one-hour idle timeout. */
const NEAR_THE_END = '58:01';

const workspaces: Pick<View, 'path' | 'status'> = { path: '/workspaces', status: 200 };
const inConsole: Pick<View, 'path' | 'status' | 'signedIn'> = {
  path: '/console',
  status: 200,
  signedIn: true,
};

/** States that pages reach only through their scripts. */
const STATES: readonly View[] = [
  { ...workspaces, name: 'filtered list', signedIn: true, navigate: then(filter) },
  { ...workspaces, name: 'all pages loaded', signedIn: true, navigate: then(loadAll) },
  { ...workspaces, name: 'finished export', signedIn: true, navigate: then(exportAll) },
  { ...workspaces, name: 'offline', signedIn: true, navigate: then(goOffline) },
  { ...workspaces, name: 'session ended', signedIn: true, navigate: then(endSession) },
  // The next two states change or end the session, so each needs its own sign-in.
  {
    ...workspaces,
    name: 'session about to end',
    signedIn: false,
    stopsClock: true,
    navigate: comeNearTheEnd,
  },
  { ...workspaces, name: 'signed out in another tab', signedIn: false, navigate: signOutElsewhere },

  { ...inConsole, name: 'console, response from the service', navigate: then(send(WORKSPACES_PATH)) },
  {
    ...inConsole,
    name: 'console, request refused by the gateway',
    failingRequestStatus: 404,
    navigate: then(send('/api/private/v1/keys')),
  },
  {
    ...inConsole,
    name: 'console, hostile response',
    service: respondsWithHostileItems,
    navigate: then(send(WORKSPACES_PATH)),
  },
];

const shownViews = useViewBrowser({ sharePage: true });

test.each(STATES)(
  'the page in the state "$name" is secure and accessible, and does not scroll horizontally',
  async (state) => {
    await using shown = await shownViews.show(state);
    expect(shown.status).toBe(state.status);
    expect(await securityViolations(shown)).toEqual([]);
    expect(await violationsInBothLooks(shown)).toEqual([]);
    expect(await shown.page.evaluate('window.pwned')).toBeUndefined();
    expect(unexpectedErrors(shown)).toEqual([]);
  },
);

/** Returns a function that opens the page and then acts on it as a user would. */
function then(act: (page: Page) => Promise<unknown>): NonNullable<View['navigate']> {
  return async (page, testApp, path) => {
    await page.goto(testApp.origin + path);
    await waitForSessionStatus(page);
    await act(page);
  };
}

async function filter(page: Page): Promise<void> {
  await page.getByRole('searchbox').fill('no such words');
  await page.getByText('0 of 25 workspaces on this page match.').waitFor();
}

async function loadAll(page: Page): Promise<void> {
  await page.getByRole('button', { name: 'Load all pages' }).click();
  await page.getByText('All 137 workspaces are loaded.').waitFor();
}

async function exportAll(page: Page): Promise<void> {
  await page.getByRole('link', { name: 'NDJSON' }).click();
  await page.locator('[data-export-progress]').getByText('137 workspaces saved as').waitFor();
}

async function goOffline(page: Page): Promise<void> {
  await page.context().setOffline(true);
  await page.getByText('You are offline.').waitFor();
}

async function endSession(page: Page): Promise<void> {
  await page.context().clearCookies();
  await returnToTab(page);
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
}

async function comeNearTheEnd(page: Page, testApp: TestApp): Promise<void> {
  const context = page.context();
  await stopClock(context);
  await signIn(page, testApp);
  await waitForSessionStatus(page);
  await (await sessionControls(context, testApp)).setIdleMs(110_000);
  await context.clock.fastForward(NEAR_THE_END);
  await page.getByRole('button', { name: 'Stay signed in' }).waitFor();
}

async function signOutElsewhere(page: Page, testApp: TestApp): Promise<void> {
  await signIn(page, testApp);
  await waitForSessionStatus(page);
  const other = await page.context().newPage();
  await other.goto(`${testApp.origin}/workspaces`);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'You signed out in another tab' }).waitFor();
}

function send(path: string) {
  return async (page: Page) => {
    await page.getByLabel('Path').fill(path);
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('heading', { name: 'Response' }).waitFor();
  };
}
