import { expect, test } from '@jest/globals';
import type { BrowserContext, Page, Route } from 'playwright-core';
import { returnToTab, sessionControls } from '../support/e2e/session-controls.ts';
import { violationsInBothLooks } from '../support/e2e/page-checks.ts';
import { eventually } from '../support/eventually.ts';
import { startE2e } from '../support/e2e/start-e2e.ts';
import { waitForSessionStatus, signInAtService } from '../support/e2e/watched-page.ts';

const PLACE = '/workspaces?limit=10&page=2';

const e2e = startE2e({}, { sharePage: true });

const withClock = async (context: BrowserContext) => context.clock.install();

/** Opens a second tab and waits until it has processed its first session response. */
async function openTab(page: Page, path = '/workspaces'): Promise<Page> {
  const tab = await page.context().newPage();
  await tab.goto(e2e.testApp.origin + path);
  await waitForSessionStatus(tab);
  return tab;
}

const endSession = async (context: BrowserContext) => (await sessionControls(context, e2e.testApp)).end();
const heading = (page: Page, name: string) => page.getByRole('heading', { name, level: 1 });
const rows = async (page: Page) => page.locator('[data-items] li:visible').count();

/** Returns the workspace names on the page, except short names, which could be part of other words. */
async function namesIn(page: Page): Promise<string[]> {
  const names = await page.getByRole('heading', { level: 2 }).allInnerTexts();
  return names.filter((name) => name.length > 3);
}

/** Checks that no private data is left in the page, visible or hidden. */
async function expectHidden(page: Page, names: readonly string[]) {
  expect(names.length).toBeGreaterThan(5);
  const left = await page.content();
  expect(names.filter((name) => left.includes(name))).toEqual([]);
  expect(await page.locator('main').locator('[data-items], form, nav').count()).toBe(0);
  expect(await page.title()).not.toContain('Workspaces');
}

test('a page is hidden after its session has ended even if the browser blocks session storage', async () => {
  const block = "Object.defineProperty(window, 'sessionStorage', { get() { throw new Error('blocked'); } })";
  const { page, context, browserErrors } = await e2e.openSignedIn('/console', {}, async (profile) =>
    profile.addInitScript(block),
  );
  await page.getByRole('button', { name: 'Send' }).click();
  await page.getByText('200 OK').waitFor();
  await endSession(context);
  await returnToTab(page);
  await heading(page, 'Your session has ended').waitFor();
  expect(await page.getByRole('heading').count()).toBe(1);
  await returnToTab(page);
  expect(browserErrors).toEqual([]);
});

test('a page is hidden when its session ends, and signing in again returns to it', async () => {
  const watched = await e2e.openSignedIn(PLACE);
  const { page, context } = watched;
  const names = await namesIn(page);
  await page.evaluate("location.hash = 'content'");
  await endSession(context);
  await returnToTab(page);
  await heading(page, 'Your session has ended').waitFor();
  await page.getByText('hidden this page to protect it. Sign in again to return to it.').waitFor();
  await expectHidden(page, names);
  expect(await page.locator('form, nav').filter({ visible: true }).count()).toBe(0);
  expect(await page.evaluate('document.activeElement.textContent')).toBe('Your session has ended');
  expect(await violationsInBothLooks(watched)).toEqual([]);
  await page.getByRole('link', { name: 'Sign in again' }).click();
  await signInAtService(page);
  await page.waitForURL(`${e2e.testApp.origin}${PLACE}#content`);
  expect(await rows(page)).toBe(10);
  expect(watched.browserErrors).toEqual([]);
});

test('signing out in one tab immediately hides the page in another tab until the user signs in again', async () => {
  const watched = await e2e.openSignedIn(PLACE);
  const { page } = watched;
  const names = await namesIn(page);
  const other = await openTab(page);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await heading(page, 'You signed out in another tab').waitFor();
  await page.getByText('hidden this page to protect it. Sign in to return to it.').waitFor();
  await expectHidden(page, names);
  expect(await page.locator('form, nav').filter({ visible: true }).count()).toBe(0);
  expect(await page.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe(
    `/auth/login?return_to=${encodeURIComponent(PLACE)}`,
  );
  expect(await violationsInBothLooks(watched)).toEqual([]);
  await returnToTab(page);
  expect(await heading(page, 'You signed out in another tab').count()).toBe(1);
  await signInAgain(other);
  await page.getByRole('button', { name: 'Reload this page' }).click();
  await page.locator('[data-items] li').first().waitFor();
  expect(page.url()).toBe(e2e.testApp.origin + PLACE);
  expect(watched.browserErrors).toEqual([]);
});

test('a failed sign-out does not affect another tab', async () => {
  const { page } = await e2e.openSignedIn(PLACE);
  const other = await openTab(page);
  await other.route('**/auth/logout', async (route) => route.fulfill({ status: 503, body: 'away' }));
  await other.getByRole('button', { name: 'Sign out' }).click();
  await other.getByText('away').waitFor();
  await returnToTab(page);
  expect(await rows(page)).toBe(10);
});

test('a page from an earlier session shows no private data to the next user', async () => {
  const watched = await e2e.openSignedIn(PLACE);
  const { page } = watched;
  const names = await namesIn(page);
  const other = await openTab(page);
  await other.route('**/auth/session', async (route) => route.abort()); // stops this tab from notifying other tabs
  await page.route('**/auth/session', async (route) => route.abort());
  await other.getByRole('button', { name: 'Sign out' }).click();
  await signInAgain(other);
  await page.unroute('**/auth/session');
  await returnToTab(page);
  await heading(page, 'You signed in again in another tab').waitFor();
  await expectHidden(page, names);
  expect(await violationsInBothLooks(watched)).toEqual([]);
  await page.getByRole('button', { name: 'Reload this page' }).click();
  await page.locator('[data-items] li').first().waitFor();
  await page.waitForLoadState(); // the remaining items
  expect(await rows(page)).toBe(10);
});

test('a page whose session should have expired is hidden until Cloakroom responds, and then restored', async () => {
  const watched = await e2e.openSignedIn(PLACE, {}, withClock);
  const { page, context } = watched;
  await page.getByRole('link', { name: 'Next' }).focus();
  await page.evaluate("scrollTo({ top: 300, behavior: 'instant' })");
  await page.route('**/auth/session', async (route) => route.fulfill({ status: 503, body: '{}' }));
  await context.clock.fastForward('01:00:05');
  await heading(page, 'Checking that you are still signed in…').waitFor();
  expect(await rows(page)).toBe(0);
  expect(await violationsInBothLooks(watched)).toEqual([]);
  await page.unroute('**/auth/session'); // as if another tab had extended the session
  await returnToTab(page);
  await page.locator('[data-items] li').first().waitFor();
  expect(await rows(page)).toBe(10);
  expect(await page.evaluate('[document.activeElement.textContent, scrollY]')).toEqual(['Next', 300]);
});

test('a page from the back/forward cache is hidden until a new response confirms its session', async () => {
  const { page } = await e2e.openSignedIn(PLACE);
  const requests: Route[] = [];
  await page.route('**/auth/session', (route) => void requests.push(route));
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
  await eventually(async () => requests.length === 2);
  const [before, after] = requests;
  await continueAndWait(page, before);
  expect(await rows(page)).toBe(0);
  await heading(page, 'Checking that you are still signed in…').waitFor();
  await continueAndWait(page, after);
  await page.locator('[data-items] li').first().waitFor();
  expect(await rows(page)).toBe(10);
});

/** Continues a held request and waits until the page has handled the response. */
async function continueAndWait(page: Page, route: Route | undefined) {
  await Promise.all([page.waitForResponse('**/auth/session'), route?.continue()]);
  await page.evaluate('new Promise((resolve) => setTimeout(resolve, 50))');
}

/** Signs in again in a tab that shows the landing page. */
async function signInAgain(page: Page) {
  await page.getByRole('link', { name: 'Sign in' }).click();
  await signInAtService(page);
  await page.waitForURL(`${e2e.testApp.origin}/workspaces`);
}
