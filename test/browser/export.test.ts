import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Download, Page } from 'playwright-core';
import { pageFaults } from '../support/e2e/page-checks.ts';
import { comeBackTo } from '../support/e2e/session-of.ts';
import { startE2e } from '../support/e2e/start-e2e.ts';
import { eventually } from '../support/eventually.ts';
import { passService } from '../support/e2e/watched-page.ts';
import type { Look, WatchedPage } from '../support/e2e/watched-page.ts';

const e2e = startE2e({ LOCAL_SERVICE_WORKSPACES: '537' }, { inOnePage: true });
beforeAll(() => e2e.testApp.advanceToNoon());

let watched: WatchedPage;
afterEach(async () => watched?.[Symbol.asyncDispose]());

async function open(look: Look = {}): Promise<Page> {
  watched = await e2e.openSignedIn('/workspaces', look);
  return watched.page;
}

const link = (page: Page, name: string) =>
  page.getByRole('link', { name: new RegExp(`^Export all workspaces as ${name} `) });

/** The file that comes of a click. */
async function download(page: Page, name: string): Promise<Download> {
  const [file] = await Promise.all([page.waitForEvent('download'), link(page, name).click()]);
  return file;
}

/** What `GET` gives at the same address. */
async function expected(page: Page, address: string): Promise<string> {
  return (await page.context().request.get(e2e.testApp.origin + address)).text();
}

/** Where the list, its tools and the links to its pages stand in the window. */
const PLACES = `[...document.querySelectorAll('.items, .list-foot, .exports, .pages, .site-footer')]
  .flatMap((each) => { const { top, left } = each.getBoundingClientRect(); return [top, left]; })`;

/** Has an export wait once all of it has come (`whole`), until `goOn()`. */
const HOLD_WHOLE = `{
  const read = Response.prototype.blob;
  const going = new Promise((resolve) => (window.goOn = resolve));
  window.whole = new Promise((resolve) => {
    Response.prototype.blob = async function () {
      const file = await read.call(this);
      resolve();
      await going;
      return file;
    };
  });
  void 0; // or Playwright would wait for it here
}`;

const SAVE_ANOTHER =
  "Object.assign(document.createElement('a'), { href: 'data:,', download: 'another.txt' }).click()";

/** Answers calls of an export's later pages in the service's place. */
function afterFirstPage(answer: (res: ServerResponse) => void): void {
  e2e.testApp.intercept = ({ url = '' }, res) => {
    const isLater = url.includes('limit=100&next=');
    if (isLater) answer(res);
    return isLater;
  };
}

/** Keeps those calls instead: each is given as it comes, be it before the page shows what came before it or after. */
function keepLaterPages(): () => Promise<ServerResponse> {
  const kept: ServerResponse[] = [];
  afterFirstPage((res) => kept.push(res));
  return async () => {
    await eventually(async () => kept.length > 0);
    return kept.shift() as ServerResponse;
  };
}

describe.each([{ javaScriptEnabled: true }, { javaScriptEnabled: false }])('with %j', (look) => {
  test.each([
    ['CSV', 'csv'],
    ['NDJSON', 'ndjson'],
  ])('a click on %s saves the very file that the server gives', async (name, extension) => {
    const page = await open(look);
    const today = new Date(e2e.testApp.services.now()).toISOString().slice(0, 10);
    const file = await download(page, name);
    const text = await readFile(await file.path(), 'utf8');
    expect(text).toBe(await expected(page, `/workspaces.${extension}`));
    expect(text.trimEnd().split('\n').length).toBeGreaterThanOrEqual(537);
    expect(file.suggestedFilename()).toBe(`workspaces-${today}.${extension}`);
    expect(watched.complaints).toEqual([]);
  });
});

describe('beside the link', () => {
  const line = (page: Page) => page.locator('.export-line');
  let page: Page;
  beforeEach(async () => {
    page = await open();
  });

  test('the items are counted as they come, and the file is saved at the end only', async () => {
    const laterPage = keepLaterPages();
    const files: Download[] = [];
    page.on('download', (file) => files.push(file));
    await link(page, 'CSV').click();
    await line(page).getByText('CSV: 100 items…').waitFor();
    expect(files).toEqual([]);
    (await laterPage()).writeHead(200, { 'content-type': 'application/json' }).end('{"value":[{"id":1}]}');
    await line(page).getByText('101 items saved as workspaces-').waitFor();
    await eventually(async () => files.length === 1);
    expect(await line(page).getByRole('button').allInnerTexts()).toEqual(['Dismiss']);
  });

  test.each([1280, 360] as const)('nothing moves when an export begins, at %d px', async (width) => {
    await page.setViewportSize({ width, height: 740 });
    afterFirstPage(() => {});
    await link(page, 'CSV').scrollIntoViewIfNeeded();
    const places = async () => page.evaluate<number[]>(PLACES);
    const before = await places();
    await link(page, 'CSV').click();
    await line(page).getByText('CSV: 100 items…').waitFor();
    expect(await places()).toEqual(before);
  });

  test('what an export said is dismissed with a press, and the keyboard comes back to the link', async () => {
    await Promise.all([page.waitForEvent('download'), link(page, 'CSV').click()]);
    await page.getByRole('button', { name: 'Dismiss: CSV export' }).press('Enter');
    expect(await line(page).count()).toBe(0);
    expect(await page.evaluate('document.activeElement.dataset.export')).toBe('CSV');
    expect(await page.locator('[data-export-announcement]').textContent()).toBe('');
  });

  test('to dismiss one export takes back its own words only, not those of the other', async () => {
    afterFirstPage((res) => res.end('{"value":[]}'));
    await Promise.all([page.waitForEvent('download'), link(page, 'CSV').click()]);
    await Promise.all([page.waitForEvent('download'), link(page, 'NDJSON').click()]);
    const said = page.locator('[data-export-announcement]');
    await said.filter({ hasText: '.ndjson' }).waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Dismiss: CSV export' }).click();
    expect(await said.textContent()).toMatch(/^100 items saved as workspaces-\S+\.ndjson$/);
  });

  test('without a network an export does not begin, and says so', async () => {
    await page.context().setOffline(true);
    await link(page, 'CSV').click();
    await page.getByRole('button', { name: 'Try again: CSV export' }).waitFor();
    expect(await line(page).innerText()).toMatch(/^The CSV export could not begin\. You are offline\.\s/);
  });

  test('a server that is not there is said to be', async () => {
    await page.route('**/*.csv', async (route) => route.abort('connectionrefused'));
    await link(page, 'CSV').click();
    await page.getByRole('button', { name: 'Try again: CSV export' }).waitFor();
    expect(await line(page).innerText()).toMatch(
      /^The CSV export could not begin\. Cloakroom did not respond\.\s/,
    );
  });

  /** By the page alone: Cloakroom itself would go on. */
  async function endSession(): Promise<void> {
    await page.route('**/auth/session', async (route) => route.fulfill({ json: { signedIn: false } }));
    await comeBackTo(page);
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  }

  test('an export under way ends with the session of its reader, at the service, too', async () => {
    const laterPage = keepLaterPages();
    await link(page, 'CSV').click();
    await line(page).getByText('CSV: 100 items…').waitFor();
    const call = await laterPage();
    await endSession();
    await eventually(async () => call.destroyed);
    expect(watched.complaints).toEqual([]);
  });

  test('an export whose last item comes as its reader’s session ends saves nothing', async () => {
    const files: Download[] = [];
    page.on('download', (file) => files.push(file));
    await page.evaluate(HOLD_WHOLE);
    afterFirstPage((res) => res.end('{"value":[]}'));
    await link(page, 'CSV').click();
    await page.evaluate('whole');
    await endSession();
    await page.evaluate('goOn()');
    await Promise.all([page.waitForEvent('download'), page.evaluate(SAVE_ANOTHER)]);
    expect(files.map((file) => file.suggestedFilename())).toEqual(['another.txt']);
    expect(watched.complaints).toEqual([]);
  });

  test('records of a CSV with line breaks and quotes in them are counted as such', async () => {
    e2e.testApp.intercept = ({ url = '' }, res) => {
      const isExport = url.includes('limit=100');
      const value = [
        { id: 1, name: 'a\n"b"\n' },
        { id: 2, name: '"' },
      ];
      if (isExport) res.end(JSON.stringify({ value }));
      return isExport;
    };
    await link(page, 'CSV').click();
    await line(page)
      .getByText(/saved as/)
      .waitFor();
    expect(await line(page).innerText()).toMatch(/^2 items saved as /);
  });

  test('Stop ends the export at the service, too, and brings the keyboard back to the link', async () => {
    const laterPage = keepLaterPages();
    await link(page, 'NDJSON').press('Enter');
    await line(page).getByText('NDJSON: 100 items…').waitFor();
    const call = await laterPage();
    await page.getByRole('button', { name: 'Stop the NDJSON export' }).press('Enter');
    await eventually(async () => call.destroyed);
    await line(page)
      .getByText(/: stopped\. Nothing was saved\.$/)
      .waitFor();
    expect(await page.evaluate('document.activeElement.dataset.export')).toBe('NDJSON');
  });

  test('an export that breaks off saves nothing, says so, and can be tried again', async () => {
    const laterPage = keepLaterPages();
    const files: Download[] = [];
    page.on('download', (file) => files.push(file));
    await link(page, 'CSV').click();
    await line(page).getByText('CSV: 100 items…').waitFor(); // or the page might never hear of them, see below
    (await laterPage()).writeHead(500).end();
    await line(page).getByText('CSV: failed after 100 items. Nothing was saved.').waitFor();
    expect(files).toEqual([]);
    expect(await page.getByRole('status').allInnerTexts()).toContain(
      'CSV: failed after 100 items. Nothing was saved.',
    );
    expect(await pageFaults(watched)).toEqual([]);

    e2e.testApp.intercept = () => false;
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Try again: CSV export' }).click(),
    ]);
    expect(await readFile(await file.path(), 'utf8')).toBe(await expected(page, '/workspaces.csv'));
    expect(await line(page).count()).toBe(1);
  });

  test('an export that breaks off before the page could read of it claims no number', async () => {
    // What has come is thrown away where the failure comes before it was read (Streams Standard, ReadableStreamError).
    await page.evaluate(`window.fetch = async () => new Response(new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('id\\r\\n1\\r\\n'));
        controller.error(new TypeError('network error'));
      },
    }));`);
    await link(page, 'CSV').click();
    await page.getByRole('button', { name: 'Try again: CSV export' }).waitFor();
    expect(await line(page).locator('span').first().innerText()).toBe('CSV: failed. Nothing was saved.');
  });

  test('what the server refuses is said in its words', async () => {
    e2e.testApp.intercept = (_req, res) => {
      res.writeHead(429, { 'retry-after': '7' }).end();
      return true;
    };
    await link(page, 'CSV').click();
    await page.getByRole('button', { name: 'Try again: CSV export' }).waitFor();
    expect(await line(page).innerText()).toMatch(
      /^The CSV export could not begin\. The service asks for a short pause\. .*Try again in 7 s\. Reference: [\w-]+\s/,
    );
  });

  test('two exports go on at once', async () => {
    const laterPage = keepLaterPages();
    await link(page, 'CSV').click();
    await link(page, 'NDJSON').click();
    await line(page).getByText('CSV: 100 items…').waitFor();
    await line(page).getByText('NDJSON: 100 items…').waitFor();
    expect(await pageFaults(watched)).toEqual([]);
    const files: Download[] = [];
    page.on('download', (file) => files.push(file));
    for (let left = 2; left > 0; left -= 1) (await laterPage()).end('{"value":[]}');
    await eventually(async () => files.length === 2);
    expect(await line(page).getByText('100 items saved as').count()).toBe(2);
  });

  test('a session that has ended leads to sign-in and back to this page', async () => {
    await page.context().clearCookies();
    await link(page, 'CSV').click();
    await page.waitForURL((url) => url.origin === e2e.testApp.serviceOrigin);
    await passService(page);
    await page.waitForURL(`${e2e.testApp.origin}/workspaces`);
    expect(await link(page, 'CSV').count()).toBe(1);
  });

  test('whoever leaves the page meanwhile is asked', async () => {
    afterFirstPage(() => {});
    await link(page, 'CSV').click();
    await line(page).getByText('CSV: 100 items…').waitFor();
    const asked = page.waitForEvent('dialog');
    void page.reload().catch(() => null); // which comes to nothing
    const dialog = await asked;
    expect(dialog.type()).toBe('beforeunload');
    await dialog.dismiss();
    expect(await line(page).count()).toBe(1);
  });

  test('a click with a key held is the browser’s', async () => {
    await link(page, 'CSV').click({ modifiers: ['Alt'] });
    expect(await line(page).count()).toBe(0);
  });
});
