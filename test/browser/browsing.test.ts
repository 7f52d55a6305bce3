import type { ServerResponse } from 'node:http';
import { expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { createDeferred } from '../../src/promises.ts';
import { returnToTab, sessionControls, stopClock } from '../support/e2e/session-controls.ts';
import { pageViolations, horizontalOverflow } from '../support/e2e/page-checks.ts';
import { signInCookies, startE2e } from '../support/e2e/start-e2e.ts';
import { LOOKS, signInAtService, signIn } from '../support/e2e/watched-page.ts';
import { eventually } from '../support/eventually.ts';
import { sendJson } from '../support/test-app.ts';

const e2e = startE2e({}, { sharePage: true });

// Playwright ignores headings whose rendering the browser skips.
const names = async (page: Page) => page.locator('.item__name').allTextContents();
/** Returns a list that collects the URLs of all later requests from the page. */
function requestsOf(page: Page): string[] {
  const urls: string[] = [];
  page.on('request', (request) => urls.push(request.url()));
  return urls;
}
const LISTS = /\/workspaces\?/;
const loadAll = async (page: Page) => page.getByRole('button', { name: 'Load all pages' }).click();
const shownItems = (page: Page) => page.locator('[data-items] li:visible');

test.each(LOOKS)(
  'the user can page through a list, find a workspace, open it and return: %j',
  async (look) => {
    const { page, browserErrors } = await e2e.openSignedIn('/workspaces', look);
    expect(await names(page)).toHaveLength(25);
    expect(await horizontalOverflow(page)).toEqual([]);

    await page.getByRole('link', { name: 'Next' }).click();
    await page.waitForURL(/page=2/);
    await page.getByText('Workspaces 26–50').waitFor();
    const [, wanted = ''] = await names(page);

    await page.getByRole('link', { name: wanted, exact: true }).click();
    await page.waitForURL(/\/workspaces\/workspace\d+\?back=/);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(wanted);
    expect(await horizontalOverflow(page)).toEqual([]);
    await page.getByRole('link', { name: 'Murals', exact: true }).click();
    await page.waitForURL(/\/murals\?back=/);
    expect(await page.getByRole('link', { name: 'Murals', exact: true }).getAttribute('aria-current')).toBe(
      'page',
    );
    await page.getByRole('link', { name: 'Workspaces, page 2' }).click();
    await page.waitForURL(/\/workspaces\?limit=25&page=2/);

    await page.getByLabel('Find a workspace').fill(wanted);
    await page.getByRole('button', { name: 'Find' }).click();
    await page.waitForURL(/find=/);
    expect(await names(page)).toContain(wanted);
    expect(await page.getByText(/of 137 workspaces match(?:es)? “/).count()).toBe(1);
    expect(await horizontalOverflow(page)).toEqual([]);
    await page.getByRole('link', { name: 'Show all workspaces' }).click();
    await page.waitForURL(`${e2e.testApp.origin}/workspaces?limit=25&page=2`);

    await page.goBack();
    await page.waitForURL(/find=/);
    expect(await names(page)).toContain(wanted);
    expect(browserErrors).toEqual([]);
  },
);

test('typing filters the items on the page, and clearing the field shows them all again', async () => {
  const watched = await e2e.openSignedIn();
  const { page } = watched;
  const [first = ''] = await names(page);
  const field = page.getByLabel('Find a workspace');
  await field.pressSequentially(first.toUpperCase());
  await page.getByText(/^\d+ of 25 workspaces on this page match/).waitFor();
  expect(await shownItems(page).count()).toBeLessThan(25);
  expect(await shownItems(page).first().getByRole('heading').innerText()).toBe(first);
  await field.fill('no such words');
  await page.getByText('0 of 25 workspaces on this page match.').waitFor();
  expect(await shownItems(page).count()).toBe(0);
  await field.fill('');
  expect(await shownItems(page).count()).toBe(25);
  expect(await pageViolations(watched)).toEqual([]);
});

test('the number of matches is announced once the user stops typing, not after each letter', async () => {
  const { page, context } = await e2e.openSignedIn('/workspaces', {}, stopClock);
  await page.evaluate(`{
    window.announced = [];
    const status = document.querySelector('[data-find-status]');
    new MutationObserver(() => announced.push(status.textContent)).observe(status, { childList: true });
  }`);
  await page.getByLabel('Find a workspace').pressSequentially('qqq');
  expect(await shownItems(page).count()).toBe(0);
  await context.clock.runFor(399);
  expect(await page.evaluate('announced')).toEqual([]);
  await context.clock.runFor(1);
  expect(await page.evaluate('announced')).toEqual([
    '0 of 25 workspaces on this page match. Select Find to search all workspaces.',
  ]);
});

test('a page keeps its filter when the user comes back to it, but not in a different session', async () => {
  const { page, context } = await e2e.openSignedIn();
  const [, second = ''] = await names(page);
  const field = page.getByLabel('Find a workspace');
  await field.fill(second);
  const matching = await shownItems(page).count();
  await page.getByRole('link', { name: second, exact: true }).click();
  await page.waitForURL(/\?back=|workspace\d+$/);
  await page.goBack();
  expect(await field.inputValue()).toBe(second);
  expect(await shownItems(page).count()).toBe(matching);
  await context.addCookies(await signInCookies(e2e.testApp));
  await page.reload();
  expect(await field.inputValue()).toBe('');
  expect(await shownItems(page).count()).toBe(25);
});

test('after a search, clearing the field shows how to list all items again', async () => {
  const { page } = await e2e.openSignedIn('/workspaces?limit=10&page=2&find=design');
  await page.getByLabel('Find a workspace').fill('');
  await page.getByText('Select Find to show all workspaces.').waitFor();
  await page.getByRole('button', { name: 'Find' }).click();
  await page.getByText('Workspaces 11–20').waitFor();
  await page.waitForLoadState(); // the items arrive after the text
  expect(await shownItems(page).count()).toBe(10);
});

test('loading stops when the session ends', async () => {
  const { page, browserErrors } = await e2e.openSignedIn('/workspaces?limit=50&page=1');
  const responses: ServerResponse[] = [];
  e2e.respondTo(LISTS, (res) => responses.push(res));
  await loadAll(page);
  await eventually(async () => responses.length === 1);
  await page.route('**/auth/session', async (route) => route.fulfill({ json: { signedIn: false } }));
  await returnToTab(page);
  await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  await eventually(async () => responses[0]?.destroyed === true);
  expect(browserErrors).toEqual([]);
});

test('the user can load all remaining pages and filter their items', async () => {
  const watched = await e2e.openSignedIn('/workspaces?limit=25&page=2', { width: 360 });
  const { page } = watched;
  const requests = requestsOf(page);
  await loadAll(page);
  await page.getByText('112 workspaces are loaded, up to the end of the list.').waitFor();
  expect(await page.evaluate('document.activeElement.textContent')).toBe(
    '112 workspaces are loaded, up to the end of the list.',
  );
  expect(await shownItems(page).count()).toBe(112);
  expect(new Set(await names(page)).size).toBe(112);
  expect(requests.map((url) => new URL(url).search)).toEqual(['?limit=100&page=1', '?limit=100&page=2']);
  await page.getByText('Workspaces 26–137').waitFor();
  expect(await page.getByRole('navigation', { name: 'Pages' }).isVisible()).toBe(false);
  const last = (await names(page)).at(-1) ?? '';
  await page.getByLabel('Find a workspace').fill(last);
  await page.getByText(/of 112 workspaces/).waitFor();
  expect(await pageViolations(watched)).toEqual([]);
  expect(watched.browserErrors).toEqual([]);
});

test('the user can stop loading, filter the items, and resume loading later', async () => {
  const { page } = await e2e.openSignedIn('/workspaces?limit=10&page=1');
  const requests = requestsOf(page);
  const { promise: secondPage, resolve: hold } = createDeferred<void>();
  await page.route(/page=2/, async () => hold());
  await loadAll(page);
  await page.getByText('100 workspaces loaded…').waitFor();
  await secondPage;
  await page.getByRole('button', { name: 'Stop' }).click();
  await page.getByText('Loading stopped at 100 workspaces.').waitFor();
  expect(await page.evaluate('document.activeElement?.textContent')).toBe('Load all pages');
  expect(await page.getByRole('link', { name: 'Next' }).getAttribute('href')).toBe(
    '/workspaces?limit=100&page=2',
  );
  await page.unroute(/page=2/);
  await page.getByLabel('Find a workspace').fill('lab');
  await page.getByText(/of 100 workspaces on this page match/).waitFor();
  await loadAll(page);
  await page.getByText('All 137 workspaces are loaded.').waitFor();
  await page.getByText(/of 137 workspaces match/).waitFor();
  const texts = await page.locator('[data-items] li').allTextContents();
  expect(texts).toHaveLength(137);
  expect(await shownItems(page).count()).toBe(texts.filter((text) => /lab/i.test(text)).length);
  expect(requests.filter((url) => /page=\d+/.test(url))).toHaveLength(1 + 1 + 1);
});

test('items on the screen keep their height while more are loaded', async () => {
  const { page } = await e2e.openSignedIn();
  await page.evaluate(`
    globalThis.heights = new Set();
    const item = document.querySelector('[data-items] > ul > li');
    (function measure() {
      heights.add(item.offsetHeight);
      requestAnimationFrame(measure);
    })();`);
  await loadAll(page);
  await page.getByText('All 137 workspaces are loaded.').waitFor();
  expect(await page.evaluate('heights.size')).toBe(1);
});

test('the browser skips loaded items far from the screen, but prints them', async () => {
  const { page } = await e2e.openSignedIn();
  await loadAll(page);
  await page.getByText('All 137 workspaces are loaded.').waitFor();
  const rendered = async () =>
    page.evaluate<number>(`[...document.querySelectorAll('[data-items] .item__head')]
      .filter((part) => part.checkVisibility({ contentVisibilityAuto: true })).length`);
  expect(await rendered()).toBeLessThan(100);
  await page.emulateMedia({ media: 'print' });
  expect(await rendered()).toBe(137);
  await page.emulateMedia({ media: null });
  // Screen readers would find the hidden items of a skipped list.
  await page.getByLabel('Find a workspace').fill('lab');
  await page.getByText(/of 137 workspaces match/).waitFor();
  const skipping =
    "getComputedStyle(document.querySelector('[data-items] > ul:last-child')).contentVisibility";
  expect(await page.evaluate(skipping)).toBe('visible');
});

test('loading pauses for the time in the Retry-After header', async () => {
  const { page, context } = await e2e.openSignedIn('/workspaces?limit=50&page=1', {}, stopClock);
  const requests = requestsOf(page);
  e2e.respondTo(LISTS, (res) => {
    res.writeHead(429, { 'retry-after': '1' }).end('{}');
    e2e.testApp.intercept = () => false;
  });
  await loadAll(page);
  await page.getByText('Too many requests just now. Continuing in 1 second…').waitFor();
  await context.clock.runFor(999);
  expect(requests).toHaveLength(1);
  await context.clock.runFor(1);
  await page.getByText('All 137 workspaces are loaded.').waitFor();
});

test('when a page fails to load, the user sees an error and the items loaded so far', async () => {
  const { page } = await e2e.openSignedIn('/workspaces?limit=50&page=1');
  e2e.respondTo(LISTS, (res) => sendJson(res, 500, {}));
  await loadAll(page);
  await page.getByText(/^.+ \(request ID: [\w-]+\)\. Loading stopped at 50 workspaces\.$/).waitFor();
  expect(await shownItems(page).count()).toBe(50);
  e2e.testApp.intercept = () => false;
  await loadAll(page);
  await page.getByText('All 137 workspaces are loaded.').waitFor();
});

test('if Cloakroom responds with an earlier page, no item is shown twice and loading continues', async () => {
  const { page, context } = await e2e.openSignedIn('/workspaces?limit=100&page=1', {}, stopClock);
  const requests = requestsOf(page);
  // The service reports an expired cursor. When Cloakroom then starts again from the first page, the service refuses the second page.
  let state: 'expired' | 'walking' | 'refused' = 'expired';
  e2e.testApp.intercept = ({ url = '' }, res) => {
    if (state === 'refused' || !LISTS.test(url)) return false;
    const isFirst = !/[?&]next=/.test(url);
    if (isFirst) state = 'walking';
    else if (state === 'expired') sendJson(res, 400, { code: 'NEXT_TOKEN_EXPIRED' });
    else {
      sendJson(res, 429, { code: 'TOO_MANY_REQUESTS' });
      state = 'refused';
    }
    return !isFirst;
  };
  await loadAll(page);
  await page.getByText('The next page can’t be loaded. Trying again in 1 second…').waitFor();
  await context.clock.runFor(999);
  expect(requests).toHaveLength(1);
  await context.clock.runFor(1);
  await page.getByText('All 137 workspaces are loaded.').waitFor();
  expect(new Set(await names(page)).size).toBe(137);
  expect(state).toBe('refused');
});

test.each([
  ['becomes shorter', 100, [{ id: 'w1', name: 'New' }]],
  ['begins with other items', 25, Array.from({ length: 100 }, (_, id) => ({ id, name: `New ${id}` }))],
])('if the list %s before it is loaded, the page reports the change', async (_, limit, value) => {
  const { page } = await e2e.openSignedIn(`/workspaces?limit=${limit}&page=1`);
  e2e.respondTo(LISTS, (res, { url = '' }) => {
    if (/[?&]next=/.test(url)) sendJson(res, 400, { code: 'NEXT_TOKEN_EXPIRED' });
    else sendJson(res, 200, { value });
  });
  await loadAll(page);
  await page
    .getByText(`The list has changed. Reload this page. Loading stopped at ${limit} workspaces.`)
    .waitFor();
  expect((await names(page)).filter((name) => name.startsWith('New'))).toEqual([]);
});

test('after the session has ended, Load all pages leads to sign-in and back to the list', async () => {
  const { page, context } = await e2e.openSignedIn('/workspaces?limit=50&page=1');
  await (await sessionControls(context, e2e.testApp)).end();
  await loadAll(page);
  await page.waitForURL((url) => url.origin === e2e.testApp.serviceOrigin);
  await signInAtService(page);
  await page.waitForURL(`${e2e.testApp.origin}/workspaces?limit=50&page=1`);
  expect(await shownItems(page).count()).toBe(50);
});

test('times are shown in the time zone of the browser', async () => {
  const createdOn = Date.UTC(2024, 5, 30, 23, 30);
  e2e.respondTo(LISTS, (res) => sendJson(res, 200, { value: [{ id: 'w1', name: 'x', createdOn }] }));
  const { page, context } = await e2e.open();
  const devtools = await context.newCDPSession(page);
  await devtools.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Tokyo' });
  await signIn(page, e2e.testApp);
  const time = page.locator('time');
  await page.getByText('1 Jul 2024').waitFor();
  expect(await time.getAttribute('datetime')).toBe('2024-06-30T23:30:00.000Z');
  expect(await time.getAttribute('title')).toBe('1 July 2024 at 08:30');
});

test('a keyboard user can find a workspace and open it', async () => {
  const { page } = await e2e.openSignedIn();
  const [, wanted = ''] = await names(page);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter'); // the skip link
  await page.locator('#content:focus').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.type(wanted);
  await page.keyboard.press('Enter');
  await page.waitForURL(/find=/);
  const isFocused = async () => (await page.evaluate('document.activeElement?.textContent')) === wanted;
  for (let presses = 0; presses < 20 && !(await isFocused()); presses += 1) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/workspaces\/workspace\d+/);
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(wanted);
});

test('a keyboard user can skip the items and go to the next page, with and without JavaScript', async () => {
  for (const javaScriptEnabled of [true, false]) {
    const { page } = await e2e.openSignedIn('/workspaces', { javaScriptEnabled });
    await page.getByRole('button', { name: 'Find' }).focus();
    const isFocused = async () =>
      page.getByRole('link', { name: 'Skip to page navigation' }).and(page.locator(':focus')).count();
    for (let presses = 0; presses < 2 && (await isFocused()) === 0; presses += 1)
      await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('#pages:focus').waitFor();
    await page.keyboard.press('Tab'); // the first two links are disabled on the first page
    await page.keyboard.press('Enter');
    await page.waitForURL(/page=2/);
    expect(await page.getByText('Workspaces 26–50').count()).toBe(1);
  }
});

test('on a phone, the touch target of a workspace name is 44 px high', async () => {
  const { page } = await e2e.openSignedIn('/workspaces', { width: 360 });
  const misses = await page.evaluate(`[...document.querySelectorAll('.item__name a')].filter((link) => {
    link.scrollIntoView({ block: 'center' });
    const { x, y, height } = link.getBoundingClientRect();
    const middle = y + height / 2;
    return [-21, 0, 21].some((up) => document.elementFromPoint(x + 2, middle + up) !== link);
  }).map(({ textContent }) => textContent)`);
  expect(misses).toEqual([]);
});
