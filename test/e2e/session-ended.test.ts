import { afterAll, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { createDeferred } from '../../src/platform/deferred.ts';
import { startHouse } from '../support/house.ts';
import type { House } from '../support/house.ts';
import { startChromium } from '../../scripts/chromium.mjs';
import { lookAgain, sessionOf } from '../support/e2e/session-of.ts';
import { pageFaults } from '../support/e2e/sound-page.ts';
import { LOOKS, openPage, signIn } from '../support/e2e/watched-page.ts';
import type { Look } from '../support/e2e/watched-page.ts';

const PLACE = '/workspaces?limit=10&page=2';
const WITH_SCRIPTS = LOOKS.filter(({ javaScriptEnabled }) => javaScriptEnabled);

jest.setTimeout(60_000);

let house: House;
let chromium: Browser;

beforeAll(async () => {
  [house, chromium] = await Promise.all([startHouse(), startChromium()]);
}, 60_000);
afterAll(async () => {
  await chromium?.close();
  await house?.[Symbol.asyncDispose]();
});
beforeEach(() => {
  house.intercept = () => false;
});

/** Signs in and waits until the page knows its session. */
async function openSignedIn(look: Look = {}, path = PLACE) {
  const watched = await openPage(chromium, look);
  const asked = watched.page.waitForResponse('**/auth/session');
  await signIn(watched.page, house, path);
  await asked;
  return watched;
}

/** A second tab of the same browser, once it knows its session. */
async function openTab(page: Page, path = '/workspaces'): Promise<Page> {
  const tab = await page.context().newPage();
  const asked = tab.waitForResponse('**/auth/session');
  await tab.goto(house.origin + path);
  await asked;
  return tab;
}

const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 });
const rows = async (page: Page) => page.locator('[data-items] > li:visible').count();

/** Nothing that the page showed is in it any more, hidden or not. */
async function expectPutAway(page: Page) {
  expect(await page.locator('table, nav, form').filter({ visible: true }).count()).toBe(0);
  expect(await page.locator('main').innerHTML()).not.toMatch(/<t[rdh]\b/);
  expect(await page.title()).not.toContain('Workspaces');
}

test('What the console remembers for the tab goes with its session', async () => {
  await using watched = await openSignedIn({}, '/console');
  const { page } = watched;
  await page.getByRole('button', { name: 'Send' }).click();
  const remembered = async () => page.evaluate('sessionStorage.length');
  await page.getByText('200 OK').waitFor();
  expect(await remembered()).toBe(1);
  await (await sessionOf(watched.context, house)).end();
  await lookAgain(page);
  await heading(page, 'Your session has ended').waitFor();
  expect(await remembered()).toBe(0);
});

test('A page is put away in a browser that gives pages no storage, too', async () => {
  await using watched = await openPage(chromium);
  const { page, context } = watched;
  await context.addInitScript(
    "Object.defineProperty(window, 'sessionStorage', { get() { throw new Error('blocked'); } })",
  );
  const asked = page.waitForResponse('**/auth/session');
  await signIn(page, house, '/console');
  await asked;
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('200 OK').waitFor();
  await (await sessionOf(context, house)).end();
  await lookAgain(page);
  await heading(page, 'Your session has ended').waitFor();
  expect(await page.getByRole('heading').count()).toBe(1);
  await lookAgain(page);
  expect(watched.complaints).toEqual([]);
});

test.each(WITH_SCRIPTS)('A session that has ended takes the page away, soundly with %j', async (look) => {
  await using watched = await openSignedIn(look);
  const { page, context } = watched;
  const session = await sessionOf(context, house);
  await session.end();
  await lookAgain(page);
  await heading(page, 'Your session has ended').waitFor();
  await expectPutAway(page);
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Your session has ended');
  expect(await pageFaults(watched)).toEqual([]);
  expect(watched.complaints).toEqual([]);
});

test('Signing in again comes back to the same page, query and fragment included', async () => {
  await using watched = await openSignedIn();
  const { page, context } = watched;
  await page.evaluate("location.hash = 'content'");
  const session = await sessionOf(context, house);
  await session.end();
  await lookAgain(page);
  await page.getByRole('link', { name: 'Sign in again' }).click();
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.waitForURL(`${house.origin}${PLACE}#content`);
  expect(await rows(page)).toBe(10);
});

test.each(WITH_SCRIPTS)(
  'Signing out in one tab puts the other away at once, soundly with %j',
  async (look) => {
    await using watched = await openSignedIn(look);
    const { page } = watched;
    const other = await openTab(page);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await heading(page, 'You signed out in another tab').waitFor();
    await expectPutAway(page);
    expect(await page.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe(
      `/auth/login?return_to=${encodeURIComponent(PLACE)}`,
    );
    expect(await pageFaults(watched)).toEqual([]);
    await lookAgain(page);
    expect(await heading(page, 'You signed out in another tab').count()).toBe(1);
    expect(watched.complaints).toEqual([]);
  },
);

test('Why a page was put away stays what it was, however long ago', async () => {
  await using watched = await openPage(chromium);
  const { page, context } = watched;
  await context.clock.install();
  const asked = page.waitForResponse('**/auth/session');
  await signIn(page, house, PLACE);
  await asked;
  const other = await openTab(page);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await heading(page, 'You signed out in another tab').waitFor();
  await context.clock.fastForward('10:00');
  await lookAgain(page);
  expect(await heading(page, 'You signed out in another tab').count()).toBe(1);
});

test('A sign-out that Cloakroom could not do changes nothing in another tab', async () => {
  await using watched = await openSignedIn();
  const { page } = watched;
  const other = await openTab(page);
  await other.route('**/auth/logout', async (route) => route.fulfill({ status: 503, body: 'away' }));
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.getByText('away').waitFor();
  await lookAgain(page);
  expect(await rows(page)).toBe(10);
});

test('A page of the session before shows nothing to whoever signs in after it', async () => {
  await using watched = await openSignedIn();
  const { page } = watched;
  const other = await openTab(page);
  await other.route('**/auth/session', async (route) => route.abort()); // tells nobody
  await page.route('**/auth/session', async (route) => route.abort());
  await other.getByRole('button', { name: 'Sign out' }).click();
  await signInRemembered(other);
  await page.unroute('**/auth/session');
  await lookAgain(page);
  await heading(page, 'You signed in again in another tab').waitFor();
  expect(await rows(page)).toBe(0);
  expect(await pageFaults(watched)).toEqual([]);
  await page.getByRole('button', { name: 'Load this page again' }).click();
  await page.locator('[data-items] > li').first().waitFor();
  expect(await rows(page)).toBe(10);
});

test('A tab that was put away offers to go on once another has signed in', async () => {
  await using watched = await openSignedIn();
  const { page } = watched;
  const other = await openTab(page);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await heading(page, 'You signed out in another tab').waitFor();
  await signInRemembered(other);
  await page.getByRole('button', { name: 'Load this page again' }).click();
  await page.locator('[data-items] > li').first().waitFor();
  expect(page.url()).toBe(house.origin + PLACE);
});

test('While Cloakroom does not answer nothing is concluded, and it is asked again', async () => {
  await using watched = await openPage(chromium);
  const { page, context } = watched;
  await context.clock.install();
  const asked = page.waitForResponse('**/auth/session');
  await signIn(page, house, PLACE);
  await asked;
  await page.route('**/auth/session', async (route) => route.fulfill({ status: 503, body: '{}' }));
  await lookAgain(page);
  expect(await rows(page)).toBe(10);
  await page.unroute('**/auth/session');
  const session = await sessionOf(context, house);
  await session.end();
  await context.clock.runFor(5_000);
  await heading(page, 'Your session has ended').waitFor();
});

test('A page whose session is over by all that is known is hidden until Cloakroom answers', async () => {
  await using watched = await openPage(chromium);
  const { page, context } = watched;
  await context.clock.install();
  const asked = page.waitForResponse('**/auth/session');
  await signIn(page, house, PLACE);
  await asked;
  await page.getByRole('link', { name: 'Next' }).focus();
  await page.route('**/auth/session', async (route) => route.fulfill({ status: 503, body: '{}' }));
  await context.clock.fastForward('01:00:05');
  await heading(page, 'Checking that you are still signed in…').waitFor();
  expect(await rows(page)).toBe(0);
  expect(await pageFaults(watched)).toEqual([]);
  await page.unroute('**/auth/session'); // it was used meanwhile, in another tab
  await lookAgain(page);
  await page.locator('[data-items] > li').first().waitFor();
  expect(await rows(page)).toBe(10);
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Next');
});

test('A page that the browser brings back from before is hidden until it is known that it may be seen', async () => {
  await using watched = await openSignedIn();
  const { page } = watched;
  const released = createDeferred<void>();
  await page.route('**/auth/session', async (route) => {
    await released.promise;
    await route.continue();
  });
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
  await heading(page, 'Checking that you are still signed in…').waitFor();
  expect(await rows(page)).toBe(0);
  released.resolve();
  await page.locator('[data-items] > li').first().waitFor();
  expect(await rows(page)).toBe(10);
});

/** Signs in where the service remembers who it was. */
async function signInRemembered(page: Page) {
  await page.getByRole('link', { name: 'Sign in' }).click();
  await page.getByRole('button', { name: 'Allow', exact: true }).click();
  await page.waitForURL(`${house.origin}/workspaces`);
}
