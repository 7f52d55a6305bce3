/** User actions that produce the session states of a page. */
import { signIn } from '../running-demo.mjs';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('../running-demo.mjs').RunningDemo} RunningDemo */

const STATUS = '**/auth/session';
const SOON_MS = 100_000;
const HOUR_MS = 3_600_000;

/** @param {Page} page */
export async function approachIdleEnd(page) {
  const expiresAt = String(await page.evaluate('document.body.dataset.session'));
  await setStatus(page, expiresAt, HOUR_MS);
  const checked = page.waitForResponse(STATUS);
  await page.reload();
  await checked;
  await setStatus(page, expiresAt, SOON_MS);
  await returnToTab(page);
  await page.getByRole('button', { name: 'Stay signed in' }).waitFor();
  await setStatus(page, expiresAt, HOUR_MS);
}

/**
 * Starts sign-ins until the client address reaches its sign-in limit. Afterwards, no user can sign in.
 * @param {Page} page
 * @param {RunningDemo} demo
 */
export async function signInTooOften(page, { address }) {
  const login = `${address}/auth/login`;
  let status = 0;
  while (status !== 429) {
    const response = await page.request.get(login, { maxRedirects: 0 });
    status = response.status();
    await response.dispose();
  }
  await page.goto(login);
}

/** @param {Page} page */
export async function staySignedIn(page) {
  await approachIdleEnd(page);
  await page.getByRole('button', { name: 'Stay signed in' }).click();
  await page.getByText('You are still signed in.').waitFor();
}

/** @param {Page} page */
export async function approachExpiry(page) {
  const expiresAt = inMs(SOON_MS);
  await page.route(page.url(), async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace(/data-session="[^"]*"/, `data-session="${expiresAt}"`);
    await route.fulfill({ response, body });
  });
  await setStatus(page, expiresAt, HOUR_MS);
  await page.reload();
  await page.getByRole('link', { name: 'Sign in again now' }).waitFor();
}

/** @param {Page} page */
export async function endSession(page) {
  await page.context().clearCookies();
  await returnToTab(page);
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
}

/**
 * Signs out in another tab, with a separate session, because the other screenshots still need the shared session.
 * @param {Page} page
 * @param {RunningDemo} demo
 */
export async function signOutInAnotherTab(page, { address }) {
  const checked = page.waitForResponse(STATUS);
  await signIn(page, address);
  await checked;
  const other = await page.context().newPage();
  await other.goto(`${address}/workspaces`);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'You signed out in another tab' }).waitFor();
  await other.close();
}

/** @param {Page} page */
export async function becomeAnotherSession(page) {
  await setStatus(page, inMs(HOUR_MS), HOUR_MS);
  await returnToTab(page);
  await page.getByRole('heading', { name: 'You signed in again in another tab' }).waitFor();
}

/**
 * Simulates a page restored from the back/forward cache. The response with the session status never arrives.
 * @param {Page} page
 */
export async function comeBackFromMemory(page) {
  const checked = page.waitForResponse(STATUS);
  await page.reload();
  await checked;
  await page.route(STATUS, () => {});
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
  await page.getByRole('heading', { name: 'Checking that you are still signed in…' }).waitFor();
  await page.waitForTimeout(1_000); // the page shows nothing at first
}

/** @param {Page} page */
export async function goOffline(page) {
  await page.context().setOffline(true);
  await page.getByText('You are offline.').waitFor();
}

/**
 * Sets the response to all later requests for /auth/session.
 * @param {Page} page
 * @param {string} expiresAt ISO 8601; the page identifies its session by this value.
 * @param {number} idleMs The time until an unused session expires.
 */
async function setStatus(page, expiresAt, idleMs) {
  await page.unroute(STATUS);
  await page.route(STATUS, async (route) => {
    const json = { signedIn: true, expiresAt, idleExpiresAt: inMs(idleMs), scopes: [] };
    await route.fulfill({ json });
  });
}

/** @param {number} ms */
const inMs = (ms) => new Date(Date.now() + ms).toISOString();

/**
 * Simulates a return to the tab, which then checks the session.
 * @param {Page} page
 */
async function returnToTab(page) {
  const checked = page.waitForResponse(STATUS);
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  await checked;
}
