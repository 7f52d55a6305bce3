/** User actions and service faults that produce the states of list pages. */
import { setFault } from './faults.mjs';

/** @typedef {import('playwright-core').Page} Page */
/** @typedef {import('../running-demo.mjs').RunningDemo} RunningDemo */

const LISTS = { route: 'workspaces' };

/** A list of hostile and malformed items that a service could send. */
export const HOSTILE = {
  value: [
    { id: 'w1', name: '<script>alert(1)</script>', description: '"><img src=x onerror=alert(1)>', locked: 1 },
    { id: 'w2', name: 'abc\u202Edef ghi', description: 'مرحبا بالعالم 42, שלום עולם', type: '&lt;b&gt;' },
    { id: 'w3', name: 'W'.repeat(300), description: 'word and '.repeat(150) },
    { id: null, name: null, description: ['a', { list: true }], createdOn: 'yesterday', suspended: 'no' },
    { title: `Z${'\u0300\u0316\u0489'.repeat(12)}algo 👩🏽‍❤️‍💋‍👨🏿`, status: 'x'.repeat(90), name: '=1+1' },
    'no item at all',
    42,
  ],
};

/** @param {Page} page */
export const openDetails = async (page) => page.locator('.item summary').first().click();

/** @param {Page} page */
export const openAbout = async (page) => page.getByText('About this workspace').click();

/** @param {string} words */
export const filter = (words) => async (/** @type {Page} */ page) => {
  await page.getByRole('searchbox').fill(words);
  await page.locator('[data-find-status]:not(:empty)').waitFor();
};

/** @param {Page} page */
export async function loadAll(page) {
  await page.getByRole('button', { name: 'Load all pages' }).click();
  await page.getByText(/^All .+ are shown\.$/).waitFor();
}

/**
 * Loads the first 100 workspaces. The next page never arrives.
 * @param {Page} page
 */
export async function loadSome(page) {
  await page.route(/page=2/, () => {});
  await page.getByRole('button', { name: 'Load all pages' }).click();
  await page.getByText('100 workspaces loaded…').waitFor();
}

/**
 * Starts an export whose second request is slow.
 * @param {Page} page
 */
export async function exportSlowly(page) {
  await page.getByRole('link', { name: 'CSV' }).click();
  await page.getByText('CSV export: 100 workspaces…').waitFor();
}

/** @param {Page} page */
export async function exportAll(page) {
  await page.getByRole('link', { name: 'NDJSON' }).click();
  await page.locator('[data-export-progress]').getByText('saved as').waitFor();
}

/**
 * @param {Page} page
 * @param {RunningDemo} demo
 */
export async function failExport(page, { service }) {
  await setFault(service, { ...LISTS, fault: 'next-expired' });
  await page.getByRole('link', { name: 'CSV' }).click();
  await page.getByRole('button', { name: 'Try again' }).waitFor();
}

/**
 * @param {Page} page
 * @param {RunningDemo} demo
 */
export async function waitToTryAgain(page, { service }) {
  await setFault(service, { ...LISTS, fault: 'rate-limit', retryAfter: 1 });
  await page.reload();
  await page.getByText('You can try again now.').waitFor();
}

/**
 * Starts a slow navigation and stops it, because Playwright can't control a page during navigation. The progress bar stays visible until
 * its animation ends.
 * @param {Page} page
 * @param {RunningDemo} demo
 */
export async function followSlowly(page, { service }) {
  await setFault(service, { ...LISTS, fault: 'latency', latencyMs: 20_000 });
  await page.evaluate(`document.querySelector('a[rel="next"]').click(); setTimeout(() => stop(), 0)`);
  await page.waitForTimeout(1_000);
}

/**
 * Sets a fault on the Faults page of the local service.
 * @param {Page} page
 * @param {RunningDemo} demo
 */
export async function setFaultByHand(page, { service }) {
  await page.goto(`${service}/_faults`);
  await page.getByRole('button', { name: 'Next list request fails (500)' }).click();
  await page.waitForURL(`${service}/_faults#now`);
  await page.evaluate('scrollTo(0, 0)'); // shows the start of the page instead of the fragment
}
