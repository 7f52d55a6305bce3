/** User actions that produce the states of the console. */

/** @typedef {import('playwright-core').Page} Page */

/** @param {Page} page */
const sendButton = (page) => page.getByRole('button', { name: 'Send', exact: true });
/** @param {Page} page */
const responseHeading = (page) => page.getByRole('heading', { name: 'Response' });

/** @param {string} path */
export const send = (path) => async (/** @type {Page} */ page) => {
  await page.getByLabel('Path').fill(path);
  await sendFirst(page);
};

/**
 * Sends the request that the console suggests.
 * @param {Page} page
 */
export async function sendFirst(page) {
  await page.emulateMedia({ reducedMotion: 'reduce' }); // the response scrolls into view without animation
  await sendButton(page).click();
  await responseHeading(page).waitFor();
}

/** @param {Page} page */
export async function showHeaders(page) {
  await sendFirst(page);
  await page.locator('[data-response] summary').click();
}

/** @param {Page} page */
export async function composeInvalidRequest(page) {
  await page.getByLabel('Path').fill('https://other.example/api/#top');
  await page.locator('[data-part="headers"] summary').click();
  await page.locator('[data-rows="headers"] [data-name]').fill('Authorization');
  await page.locator('[data-rows="headers"] [data-value]').fill('Bearer mine');
  await page.locator('[data-part="body"] summary').click();
  await page.getByLabel('Body', { exact: true }).fill('{"half": ');
  await sendButton(page).click();
}

/**
 * Sends a request and changes its response as if the gateway had refreshed the token.
 * @param {Page} page
 */
export async function sendRefreshed(page) {
  await page.route('**/api/**', async (route) => {
    const response = await route.fetch();
    const timing = response.headers()['server-timing'] ?? '';
    const refreshed = timing.replace(/token;dur=[\d.]+/, 'token;dur=38.2;desc="refreshed"');
    await route.fulfill({ response, headers: { ...response.headers(), 'server-timing': refreshed } });
  });
  await sendFirst(page);
}

/** @param {Page} page */
export async function sendSignedOut(page) {
  await page.context().clearCookies();
  await sendFirst(page);
}

/** @param {Page} page */
export async function copyAsFetch(page) {
  await page.getByRole('button', { name: 'Copy as fetch' }).click();
  await page.locator('[data-copy-status]:not(:empty)').waitFor();
}

/** @param {Page} page */
export async function fillFromHistory(page) {
  await send('/api/public/v1/nothing')(page);
  await send('/api/public/v1/workspaces')(page);
  await page.getByRole('button', { name: 'Next page' }).click();
  await page.locator('[data-history-items] li', { hasText: /next=.* 200/ }).waitFor();
  await page.locator('[data-history-items] button', { hasText: 'nothing' }).click();
}

/** @param {Page} page */
export const beginToSend = async (page) => sendButton(page).click();
