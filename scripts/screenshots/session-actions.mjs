/** The ways to the states of a session, as a page tells of them. */
import { signIn } from '../running-demo.mjs';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('../running-demo.mjs').RunningDemo} RunningDemo */

const STATUS = '**/auth/session';
const SOON_MS = 100_000;
const HOUR_MS = 3_600_000;

/** @param {Page} page */
export async function comeNearTheEnd(page) {
  const longest = String(await page.evaluate('document.body.dataset.session'));
  await tell(page, longest, HOUR_MS);
  const asked = page.waitForResponse(STATUS);
  await page.reload();
  await asked;
  await tell(page, longest, SOON_MS);
  await lookAgain(page);
  await page.getByRole('button', { name: 'Stay signed in' }).waitFor();
  await tell(page, longest, HOUR_MS);
}

/**
 * Begins more sign-ins than an address may, and takes that away from every state that is still to come.
 * @param {Page} page
 * @param {RunningDemo} demo
 */
export async function signInTooOften(page, { address }) {
  const login = `${address}/auth/login`;
  let status = 0;
  while (status !== 429) {
    const answer = await page.request.get(login, { maxRedirects: 0 });
    status = answer.status();
    await answer.dispose();
  }
  await page.goto(login);
}

/** @param {Page} page */
export async function staySignedIn(page) {
  await comeNearTheEnd(page);
  await page.getByRole('button', { name: 'Stay signed in' }).click();
  await page.getByText('You are still signed in.').waitFor();
}

/** @param {Page} page */
export async function comeNearTheLongest(page) {
  const longest = inMs(SOON_MS);
  await page.route(page.url(), async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replace(/data-session="[^"]*"/, `data-session="${longest}"`);
    await route.fulfill({ response, body });
  });
  await tell(page, longest, HOUR_MS);
  await page.reload();
  await page.getByRole('link', { name: 'Sign in again now' }).waitFor();
}

/** @param {Page} page */
export async function endSession(page) {
  await page.context().clearCookies();
  await lookAgain(page);
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
}

/**
 * A session of its own: that of the other pictures goes on.
 * @param {Page} page
 * @param {RunningDemo} demo
 */
export async function signOutInAnotherTab(page, { address }) {
  const asked = page.waitForResponse(STATUS);
  await signIn(page, address);
  await asked;
  const other = await page.context().newPage();
  await other.goto(`${address}/workspaces`);
  await other.getByRole('button', { name: 'Sign out' }).click();
  await page.getByRole('heading', { name: 'You signed out in another tab' }).waitFor();
  await other.close();
}

/** @param {Page} page */
export async function becomeAnotherSession(page) {
  await tell(page, inMs(HOUR_MS), HOUR_MS);
  await lookAgain(page);
  await page.getByRole('heading', { name: 'You signed in again in another tab' }).waitFor();
}

/**
 * As the browser brings a page back from before; the answer whether it may be seen never comes.
 * @param {Page} page
 */
export async function comeBackFromMemory(page) {
  const asked = page.waitForResponse(STATUS);
  await page.reload();
  await asked;
  await page.route(STATUS, () => {});
  await page.evaluate("dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))");
  await page.getByRole('heading', { name: 'Checking that you are still signed in…' }).waitFor();
  await page.waitForTimeout(1_000); // for a moment nothing is shown
}

/** @param {Page} page */
export async function goOffline(page) {
  await page.context().setOffline(true);
  await page.getByText('You are offline.').waitFor();
}

/**
 * What the page is told of its session from now on.
 * @param {Page} page
 * @param {string} longest When it ends whatever is done (ISO 8601), which is its name to the page.
 * @param {number} idleMs How long it lasts unless it is used.
 */
async function tell(page, longest, idleMs) {
  await page.unroute(STATUS);
  await page.route(STATUS, async (route) => {
    const answer = { signedIn: true, expiresAt: longest, idleExpiresAt: inMs(idleMs), scopes: [] };
    await route.fulfill({ json: answer });
  });
}

/** @param {number} ms */
const inMs = (ms) => new Date(Date.now() + ms).toISOString();

/**
 * Comes back to the tab, which asks about its session.
 * @param {Page} page
 */
async function lookAgain(page) {
  const asked = page.waitForResponse(STATUS);
  await page.evaluate("document.dispatchEvent(new Event('visibilitychange'))");
  await asked;
}
