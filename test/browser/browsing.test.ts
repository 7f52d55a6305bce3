import type { ServerResponse } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { createDeferred } from '../../src/promises.ts';
import { comeBackTo, sessionOf, stopClock } from '../support/e2e/session-of.ts';
import { pageFaults, sidewaysFaults } from '../support/e2e/page-checks.ts';
import { cookiesOfSignedIn, startE2e } from '../support/e2e/start-e2e.ts';
import { LOOKS, passService, signIn } from '../support/e2e/watched-page.ts';
import { eventually } from '../support/eventually.ts';
import { sendJson } from '../support/test-app.ts';

const e2e = startE2e({}, { inOnePage: true });

const names = async (page: Page) => page.getByRole('heading', { level: 2 }).allInnerTexts();
/** What the page asks for from now on. */
function requestsOf(page: Page): string[] {
  const asked: string[] = [];
  page.on('request', (request) => asked.push(request.url()));
  return asked;
}
const shownItems = (page: Page) => page.locator('[data-items] > li:visible');

describe.each(LOOKS)('With %j', (look) => {
  test('a person goes from page to page, finds a workspace, looks inside and comes back', async () => {
    await using watched = await e2e.openSignedIn('/workspaces', look);
    const { page } = watched;
    expect(await names(page)).toHaveLength(25);
    expect(await sidewaysFaults(page)).toEqual([]);

    await page.getByRole('link', { name: 'Next' }).click();
    await page.waitForURL(/page=2/);
    await page.getByText('Items 26–50').waitFor();
    const [, wanted = ''] = await names(page);

    await page.getByRole('link', { name: wanted, exact: true }).click();
    await page.waitForURL(/\/workspaces\/workspace\d+\?back=/);
    expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(wanted);
    expect(await sidewaysFaults(page)).toEqual([]);
    await page.getByRole('link', { name: 'Murals', exact: true }).click();
    await page.waitForURL(/\/murals\?back=/);
    expect(await page.getByRole('link', { name: 'Murals', exact: true }).getAttribute('aria-current')).toBe(
      'page',
    );
    await page.getByRole('link', { name: 'Workspaces, page 2' }).click();
    await page.waitForURL(/\/workspaces\?limit=25&page=2/);

    await page.getByLabel('Find in all workspaces').fill(wanted);
    await page.getByRole('button', { name: 'Find' }).click();
    await page.waitForURL(/find=/);
    expect(await names(page)).toContain(wanted);
    expect(await page.getByText(/match(?:es)? for “.*” in all 137 workspaces/).count()).toBe(1);
    expect(await sidewaysFaults(page)).toEqual([]);
    await page.getByRole('link', { name: 'Show all workspaces' }).click();
    await page.waitForURL(`${e2e.testApp.origin}/workspaces?limit=25&page=2`);

    await page.goBack();
    await page.waitForURL(/find=/);
    expect(await names(page)).toContain(wanted);
    expect(watched.complaints).toEqual([]);
  });
});

describe('With JavaScript', () => {
  test('typing filters what is shown, and emptying the field shows all again', async () => {
    await using watched = await e2e.openSignedIn();
    const { page } = watched;
    const [first = ''] = await names(page);
    const field = page.getByLabel('Find in all workspaces');
    await field.pressSequentially(first.toUpperCase());
    await page.getByText(/^\d+ of the 25 shown here match/).waitFor();
    expect(await shownItems(page).count()).toBeLessThan(25);
    expect(await shownItems(page).first().getByRole('heading').innerText()).toBe(first);
    await field.fill('nothing is called like this');
    await page.getByText('0 of the 25 shown here match.').waitFor();
    expect(await shownItems(page).count()).toBe(0);
    await field.fill('');
    expect(await shownItems(page).count()).toBe(25);
    expect(await pageFaults(watched)).toEqual([]);
  });

  test('what is typed is said once, in a pause: not with each letter', async () => {
    await using watched = await e2e.openSignedIn('/workspaces', {}, stopClock);
    const { page, context } = watched;
    await page.evaluate(`{
      window.said = [];
      const line = document.querySelector('[data-find-status]');
      new MutationObserver(() => said.push(line.textContent)).observe(line, { childList: true });
    }`);
    await page.getByLabel('Find in all workspaces').pressSequentially('qqq');
    expect(await shownItems(page).count()).toBe(0);
    await context.clock.runFor(399);
    expect(await page.evaluate('said')).toEqual([]);
    await context.clock.runFor(1);
    expect(await page.evaluate('said')).toEqual([
      '0 of the 25 shown here match. Press Find to search all of them.',
    ]);
  });

  test('whoever comes back to a filtered page finds it so, unless somebody else has signed in', async () => {
    await using watched = await e2e.openSignedIn();
    const { page, context } = watched;
    const [, second = ''] = await names(page);
    const field = page.getByLabel('Find in all workspaces');
    await field.fill(second);
    const matching = await shownItems(page).count();
    await page.getByRole('link', { name: second, exact: true }).click();
    await page.waitForURL(/\?back=|workspace\d+$/);
    await page.goBack();
    expect(await field.inputValue()).toBe(second);
    expect(await shownItems(page).count()).toBe(matching);
    await context.addCookies(await cookiesOfSignedIn(e2e.testApp));
    await page.reload();
    expect(await field.inputValue()).toBe('');
    expect(await shownItems(page).count()).toBe(25);
  });

  test('where the field of what was found is emptied, the page says how all is shown again', async () => {
    await using watched = await e2e.openSignedIn('/workspaces?limit=10&page=2&find=design');
    const { page } = watched;
    await page.getByLabel('Find in all workspaces').fill('');
    await page.getByText('Press Find to show all again.').waitFor();
    await page.getByRole('button', { name: 'Find' }).click();
    await page.getByText('Items 11–20').waitFor();
    await page.waitForLoadState(); // the words stand above the items
    expect(await shownItems(page).count()).toBe(10);
  });

  test('loading ends with the session of its reader', async () => {
    await using watched = await e2e.openSignedIn('/workspaces?limit=50&page=1');
    const { page } = watched;
    const calls: ServerResponse[] = [];
    e2e.testApp.intercept = (req, res) => {
      if (!/\/workspaces\?/.test(req.url ?? '')) return false;
      calls.push(res);
      return true;
    };
    await page.getByRole('button', { name: 'Load all pages' }).click();
    await eventually(async () => calls.length === 1);
    await page.route('**/auth/session', async (route) => route.fulfill({ json: { signedIn: false } }));
    await comeBackTo(page);
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    await eventually(async () => calls[0]?.destroyed === true);
    expect(watched.complaints).toEqual([]);
  });

  test('all remaining pages are loaded behind the one that is shown, and can be filtered', async () => {
    await using watched = await e2e.openSignedIn('/workspaces?limit=25&page=2', { width: 360 });
    const { page } = watched;
    await page.getByRole('button', { name: 'Load all pages' }).click();
    await page.getByText('All loaded: 112 items.').waitFor();
    expect(await page.evaluate('document.activeElement.textContent')).toBe('All loaded: 112 items.');
    expect(await shownItems(page).count()).toBe(112);
    await page.getByText('Items 26–137').waitFor();
    expect(await page.getByRole('navigation', { name: 'Pages' }).isVisible()).toBe(false);
    const last = (await names(page)).at(-1) ?? '';
    await page.getByLabel('Find in all workspaces').fill(last);
    await page.getByText(/of the 112 shown here/).waitFor();
    expect(await pageFaults(watched)).toEqual([]);
    expect(watched.complaints).toEqual([]);
  });

  test('loading can be stopped, and goes on from there', async () => {
    await using watched = await e2e.openSignedIn('/workspaces?limit=10&page=1');
    const { page } = watched;
    let lists = 0;
    // The third page never comes before it is stopped.
    const { promise: asked, resolve: ask } = createDeferred<void>();
    await page.route(/page=3/, async () => ask());
    page.on('request', (request) => {
      if (/page=\d+/.test(request.url())) lists += 1;
    });
    await page.getByRole('button', { name: 'Load all pages' }).click();
    await page.getByText('20 items…').waitFor();
    await asked;
    await page.getByRole('button', { name: 'Stop' }).click();
    await page.getByText('Stopped after 20 items.').waitFor();
    const focused = await page.evaluate('document.activeElement?.textContent');
    expect(focused).toBe('Load all pages');
    await page.unroute(/page=3/);
    await page.getByRole('button', { name: 'Load all pages' }).click();
    await page.getByText('All loaded: 137 items.').waitFor();
    expect(await shownItems(page).count()).toBe(137);
    expect(lists).toBe(1 + 1 + 12);
  });

  test('a pause that the service asks for is kept, and loading goes on', async () => {
    await using watched = await e2e.openSignedIn('/workspaces?limit=50&page=1', {}, stopClock);
    const { page, context } = watched;
    const asked = requestsOf(page);
    let refused = 0;
    e2e.testApp.intercept = (req, res) => {
      if (refused > 0 || !/\/workspaces\?/.test(req.url ?? '')) return false;
      refused += 1;
      res.setHeader('retry-after', '1');
      sendJson(res, 429, { code: 'TOO_MANY_REQUESTS' });
      return true;
    };
    await page.getByRole('button', { name: 'Load all pages' }).click();
    await page.getByText('Cloakroom asks for a pause of 1 s…').waitFor();
    await context.clock.runFor(999);
    expect(asked).toHaveLength(1);
    await context.clock.runFor(1);
    await page.getByText('All loaded: 137 items.').waitFor();
    expect(refused).toBe(1);
  });

  test('a page that cannot be loaded is said to be, and what is there stays', async () => {
    await using watched = await e2e.openSignedIn('/workspaces?limit=50&page=1');
    const { page } = watched;
    e2e.testApp.intercept = (req, res) => {
      if (!/\/workspaces\?/.test(req.url ?? '')) return false;
      sendJson(res, 500, {});
      return true;
    };
    await page.getByRole('button', { name: 'Load all pages' }).click();
    await page.getByText(/^.+ \(reference: [\w-]+\)\. Loading ended after 50 items\.$/).waitFor();
    expect(await shownItems(page).count()).toBe(50);
    e2e.testApp.intercept = () => false;
    await page.getByRole('button', { name: 'Load all pages' }).click();
    await page.getByText('All loaded: 137 items.').waitFor();
  });

  test('an earlier page that comes in place of the next one neither doubles items nor ends the list', async () => {
    await using watched = await e2e.openSignedIn('/workspaces?limit=50&page=2', {}, stopClock);
    const { page, context } = watched;
    const asked = requestsOf(page);
    let [fallsBack, mayExpire] = [true, true];
    // The token has expired, and the walk from the beginning is too fast for the service.
    e2e.testApp.intercept = (req, res) => {
      if (!fallsBack || !/\/workspaces\?/.test(req.url ?? '')) return false;
      const isFirst = !/[?&]next=/.test(req.url ?? '');
      if (isFirst) {
        mayExpire = false;
        return false;
      }
      if (mayExpire) sendJson(res, 400, { code: 'NEXT_TOKEN_EXPIRED' });
      else {
        sendJson(res, 429, { code: 'TOO_MANY_REQUESTS' });
        fallsBack = false;
      }
      return true;
    };
    await page.getByRole('button', { name: 'Load all pages' }).click();
    await page.getByText('The next page can’t be reached. Trying again in 1 s…').waitFor();
    await context.clock.runFor(999);
    expect(asked).toHaveLength(1);
    await context.clock.runFor(1);
    await page.getByText('All loaded: 87 items.').waitFor();
    expect(new Set(await names(page)).size).toBe(87);
    expect(fallsBack).toBe(false);
  });

  test('a list that has become shorter meanwhile is said to have changed', async () => {
    await using watched = await e2e.openSignedIn('/workspaces?limit=50&page=2');
    const { page } = watched;
    e2e.testApp.intercept = (req, res) => {
      if (!/\/workspaces\?/.test(req.url ?? '')) return false;
      if (/[?&]next=/.test(req.url ?? '')) sendJson(res, 400, { code: 'NEXT_TOKEN_EXPIRED' });
      else sendJson(res, 200, { value: [{ id: 'w1', name: 'The only one left' }] });
      return true;
    };
    await page.getByRole('button', { name: 'Load all pages' }).click();
    await page.getByText('The list has changed: loading ended after 50 items.').waitFor();
    expect(await names(page)).not.toContain('The only one left');
  });

  test('a session that is over leads to sign-in, and back', async () => {
    await using watched = await e2e.openSignedIn('/workspaces?limit=50&page=1');
    const { page, context } = watched;
    await (await sessionOf(context, e2e.testApp)).end();
    await page.getByRole('button', { name: 'Load all pages' }).click();
    await page.waitForURL((url) => url.origin === e2e.testApp.serviceOrigin);
    await passService(page);
    await page.waitForURL(`${e2e.testApp.origin}/workspaces?limit=50&page=1`);
    expect(await shownItems(page).count()).toBe(50);
  });

  test('times are shown in the zone of the reader', async () => {
    const createdOn = Date.UTC(2024, 5, 30, 23, 30);
    e2e.testApp.intercept = (req, res) => {
      if (!/\/workspaces\?/.test(req.url ?? '')) return false;
      sendJson(res, 200, { value: [{ id: 'w1', name: 'x', createdOn }] });
      return true;
    };
    await using watched = await e2e.open();
    const { page, context } = watched;
    const devtools = await context.newCDPSession(page);
    await devtools.send('Emulation.setTimezoneOverride', { timezoneId: 'Asia/Tokyo' });
    await signIn(page, e2e.testApp);
    const time = page.locator('time');
    await page.getByText('1 Jul 2024').waitFor();
    expect(await time.getAttribute('datetime')).toBe('2024-06-30T23:30:00.000Z');
    expect(await time.getAttribute('title')).toBe('1 July 2024 at 08:30');
  });
});

test('Two tabs page through the same list without disturbing each other', async () => {
  await using watched = await e2e.openSignedIn('/workspaces?limit=10&page=2');
  const { page, context } = watched;
  const other = await context.newPage();
  await other.goto(`${e2e.testApp.origin}/workspaces?limit=50&page=2`);
  await page.getByRole('link', { name: 'Next' }).click();
  await page.getByText('Items 21–30').waitFor();
  await other.getByRole('link', { name: 'Next' }).click();
  await other.getByText('Items 101–137').waitFor();
  await page.getByRole('link', { name: 'Previous' }).click();
  await page.getByText('Items 11–20').waitFor();
  await page.getByRole('link', { name: 'First' }).click();
  await page.getByText('Items 1–10').waitFor();
  expect(watched.complaints).toEqual([]);
});

test('By keyboard alone a person finds a workspace and opens it', async () => {
  await using watched = await e2e.openSignedIn();
  const { page } = watched;
  const [, wanted = ''] = await names(page);
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter'); // skips to the content
  await page.locator('#content:focus').waitFor();
  await page.keyboard.press('Tab');
  await page.keyboard.type(wanted);
  await page.keyboard.press('Enter');
  await page.waitForURL(/find=/);
  const isThere = async () => (await page.evaluate('document.activeElement?.textContent')) === wanted;
  for (let presses = 0; presses < 20 && !(await isThere()); presses += 1) await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.waitForURL(/\/workspaces\/workspace\d+/);
  expect(await page.getByRole('heading', { level: 1 }).innerText()).toBe(wanted);
});

test('By keyboard alone a person comes past the rows to the next page, with JavaScript or without', async () => {
  for (const javaScriptEnabled of [true, false]) {
    await using watched = await e2e.openSignedIn('/workspaces', { javaScriptEnabled });
    const { page } = watched;
    await page.getByRole('button', { name: 'Find' }).focus();
    const isThere = async () =>
      page.getByRole('link', { name: 'Skip to the pages' }).and(page.locator(':focus')).count();
    for (let presses = 0; presses < 2 && (await isThere()) === 0; presses += 1)
      await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    await page.locator('#pages:focus').waitFor();
    await page.keyboard.press('Tab'); // the first two lead nowhere on the first page
    await page.keyboard.press('Enter');
    await page.waitForURL(/page=2/);
    expect(await page.getByText('Items 26–50').count()).toBe(1);
  }
});

test('A thumb hits a name from 44 px of height, on a phone', async () => {
  await using watched = await e2e.openSignedIn('/workspaces', { width: 360 });
  const misses = await watched.page
    .evaluate(`[...document.querySelectorAll('.item__name a')].filter((link) => {
    link.scrollIntoView({ block: 'center' });
    const { x, y, height } = link.getBoundingClientRect();
    const middle = y + height / 2;
    return [-21, 0, 21].some((up) => document.elementFromPoint(x + 2, middle + up) !== link);
  }).map(({ textContent }) => textContent)`);
  expect(misses).toEqual([]);
});
