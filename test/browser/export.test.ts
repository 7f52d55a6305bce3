import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { Download, Locator, Page } from 'playwright-core';
import { pageViolations } from '../support/e2e/page-checks.ts';
import { returnToTab } from '../support/e2e/session-controls.ts';
import { startE2e } from '../support/e2e/start-e2e.ts';
import { eventually } from '../support/eventually.ts';
import { signInAtService } from '../support/e2e/watched-page.ts';
import type { Look, WatchedPage } from '../support/e2e/watched-page.ts';

const e2e = startE2e({ LOCAL_SERVICE_WORKSPACES: '537' }, { sharePage: true });
beforeAll(() => e2e.testApp.advanceClockToNoon());

let watched: WatchedPage;
let page: Page;

async function open(look: Look = {}): Promise<void> {
  watched = await e2e.openSignedIn('/workspaces', look);
  ({ page } = watched);
}

const link = (format: string) =>
  page.getByRole('link', { name: new RegExp(`^Export all workspaces as ${format} `) });

/** Clicks the control and waits for the download. */
async function download(control: Locator): Promise<Download> {
  const [file] = await Promise.all([page.waitForEvent('download'), control.click()]);
  return file;
}

/** Downloads an export without using the page's script. */
async function expectedFile(path: string): Promise<string> {
  return (await page.context().request.get(e2e.testApp.origin + path)).text();
}

/** A script that returns the positions of the list, the export controls and the page links. */
const POSITIONS = `[...document.querySelectorAll('.items, .list-foot, .exports, .pages, .site-footer')]
  .flatMap((each) => { const { top, left } = each.getBoundingClientRect(); return [top, left]; })`;

/** A script that holds a complete export until release() is called. */
const HOLD_COMPLETE = `{
  const read = Response.prototype.blob;
  const released = new Promise((resolve) => (window.release = resolve));
  window.complete = new Promise((resolve) => {
    Response.prototype.blob = async function () {
      const file = await read.call(this);
      resolve();
      await released;
      return file;
    };
  });
  void 0; // if the script returned a promise, Playwright would wait for it
}`;

const SAVE_ANOTHER =
  "Object.assign(document.createElement('a'), { href: 'data:,', download: 'another.txt' }).click()";

/** Replaces the responses from the service for every page of an export except the first. */
const respondToLaterPages = (respond: (res: ServerResponse) => void) =>
  e2e.respondTo(/limit=100&next=/, respond);

/** Holds every page of an export except the first. The returned function resolves with the next held response. */
function holdLaterPages(): () => Promise<ServerResponse> {
  const held: ServerResponse[] = [];
  respondToLaterPages((res) => held.push(res));
  return async () => {
    await eventually(async () => held.length > 0);
    return held.shift() as ServerResponse;
  };
}

describe.each([{ javaScriptEnabled: true }, { javaScriptEnabled: false }])('with %j', (look) => {
  test.each([
    ['CSV', 'csv'],
    ['NDJSON', 'ndjson'],
  ])('a click on %s saves the file exactly as the server sends it', async (name, extension) => {
    await open(look);
    const today = new Date(e2e.testApp.services.now()).toISOString().slice(0, 10);
    const file = await download(link(name));
    const text = await readFile(await file.path(), 'utf8');
    expect(text).toBe(await expectedFile(`/workspaces.${extension}`));
    expect(text.trimEnd().split('\n').length).toBeGreaterThanOrEqual(537);
    expect(file.suggestedFilename()).toBe(`workspaces-${today}.${extension}`);
    expect(watched.browserErrors).toEqual([]);
  });
});

describe('exports', () => {
  const status = () => page.locator('.export-line');
  const hundredItems = (format = 'CSV') => status().getByText(`${format} export: 100 workspaces…`).waitFor();
  const tryAgain = () => page.getByRole('button', { name: 'Try again: CSV export' });
  const hasFailed = async () => tryAgain().waitFor();
  let files: Download[];
  const noteFile = (file: Download) => files.push(file);
  beforeEach(async () => {
    await open();
    files = [];
    page.on('download', noteFile);
  });
  afterEach(() => void page.off('download', noteFile));

  test('an export shows its number of items, and saves the file only once the export is complete', async () => {
    const laterPage = holdLaterPages();
    await link('CSV').click();
    await hundredItems();
    expect(files).toEqual([]);
    (await laterPage()).writeHead(200, { 'content-type': 'application/json' }).end('{"value":[{"id":1}]}');
    await status().getByText('101 workspaces saved as workspaces-').waitFor();
    await eventually(async () => files.length === 1);
    expect(await status().getByRole('button').allInnerTexts()).toEqual(['Dismiss']);
  });

  test.each([1280, 360] as const)('at %d px, an export starts without a layout shift', async (width) => {
    await page.setViewportSize({ width, height: 740 });
    respondToLaterPages(() => {});
    await link('CSV').scrollIntoViewIfNeeded();
    const places = async () => page.evaluate<number[]>(POSITIONS);
    const before = await places();
    await link('CSV').click();
    await hundredItems();
    expect(await places()).toEqual(before);
  });

  test('dismissing an export with its button returns the focus to the link', async () => {
    await download(link('CSV'));
    await page.getByRole('button', { name: 'Dismiss the CSV export message' }).press('Enter');
    expect(await status().count()).toBe(0);
    expect(await page.evaluate('document.activeElement.dataset.export')).toBe('CSV');
    expect(await page.locator('[data-export-announcement]').textContent()).toBe('');
  });

  test('dismissing an export keeps the announcement of another export', async () => {
    respondToLaterPages((res) => res.end('{"value":[]}'));
    await download(link('CSV'));
    await download(link('NDJSON'));
    const said = page.locator('[data-export-announcement]');
    await said.filter({ hasText: '.ndjson' }).waitFor({ state: 'attached' });
    await page.getByRole('button', { name: 'Dismiss the CSV export message' }).click();
    expect(await said.textContent()).toMatch(/^100 workspaces saved as workspaces-\S+\.ndjson$/);
  });

  test.each([
    ['the browser is offline', 'You are offline', async () => page.context().setOffline(true)],
    [
      'Cloakroom does not respond',
      'Cloakroom did not respond',
      async () => page.route('**/*.csv', async (route) => route.abort('connectionrefused')),
    ],
  ])('an export cannot start and shows the reason when %s', async (_when, reason, disconnect) => {
    await disconnect();
    await link('CSV').click();
    await hasFailed();
    expect(await status().innerText()).toMatch(`The CSV export could not start. ${reason}.`);
  });

  /** Fakes the end of the session, but only in the page. Cloakroom itself would continue the export. */
  async function endSession(): Promise<void> {
    await page.route('**/auth/session', async (route) => route.fulfill({ json: { signedIn: false } }));
    await returnToTab(page);
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
  }

  test('an export stops when the session ends, and its request to the service is cancelled', async () => {
    const laterPage = holdLaterPages();
    await link('CSV').click();
    await hundredItems();
    const response = await laterPage();
    await endSession();
    await eventually(async () => response.destroyed);
    expect(watched.browserErrors).toEqual([]);
  });

  test('an export that completes just as the session ends saves nothing', async () => {
    await page.evaluate(HOLD_COMPLETE);
    respondToLaterPages((res) => res.end('{"value":[]}'));
    await link('CSV').click();
    await page.evaluate('complete');
    await endSession();
    await page.evaluate('release()');
    await Promise.all([page.waitForEvent('download'), page.evaluate(SAVE_ANOTHER)]);
    expect(files.map((file) => file.suggestedFilename())).toEqual(['another.txt']);
    expect(watched.browserErrors).toEqual([]);
  });

  test('stopping an export closes its request to the service and returns the focus to the link', async () => {
    const laterPage = holdLaterPages();
    await link('NDJSON').press('Enter');
    await hundredItems('NDJSON');
    const response = await laterPage();
    await page.getByRole('button', { name: 'Stop the NDJSON export' }).press('Enter');
    await eventually(async () => response.destroyed);
    await status()
      .getByText(/ export stopped\. Nothing was saved\.$/)
      .waitFor();
    expect(await page.evaluate('document.activeElement.dataset.export')).toBe('NDJSON');
  });

  test('an export that fails saves no file, reports the failure and can be retried', async () => {
    const laterPage = holdLaterPages();
    await link('CSV').click();
    await hundredItems(); // a failure before the page has read these items would discard them
    (await laterPage()).writeHead(500).end();
    await status().getByText('CSV export failed after 100 workspaces. Nothing was saved.').waitFor();
    expect(files).toEqual([]);
    expect(await page.getByRole('status').allInnerTexts()).toContain(
      'CSV export failed after 100 workspaces. Nothing was saved.',
    );
    expect(await pageViolations(watched)).toEqual([]);

    e2e.testApp.intercept = () => false;
    const file = await download(tryAgain());
    expect(await readFile(await file.path(), 'utf8')).toBe(await expectedFile('/workspaces.csv'));
    expect(await status().count()).toBe(1);
  });

  test('an export that fails before the page has read an item shows no item count', async () => {
    // A stream that fails discards its unread chunks (Streams Standard, ReadableStreamError).
    await page.evaluate(`window.fetch = async () => new Response(new ReadableStream({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('id\\r\\n1\\r\\n'));
        controller.error(new TypeError('network error'));
      },
    }));`);
    await link('CSV').click();
    await hasFailed();
    expect(await status().locator('span').first().innerText()).toBe('CSV export failed. Nothing was saved.');
  });

  test('an export that is refused shows the reason and the request ID', async () => {
    e2e.respondTo(/^/, (res) => res.writeHead(429, { 'retry-after': '7' }).end());
    await link('CSV').click();
    await hasFailed();
    expect(await status().innerText()).toMatch(
      /^The CSV export could not start\. Too many requests just now\. .*Try again in 7 seconds\. Request ID: [\w-]+\s/,
    );
  });

  test('two exports can run at the same time', async () => {
    const laterPage = holdLaterPages();
    await link('CSV').click();
    await link('NDJSON').click();
    await hundredItems();
    await hundredItems('NDJSON');
    expect(await pageViolations(watched)).toEqual([]);
    for (let left = 2; left > 0; left -= 1) (await laterPage()).end('{"value":[]}');
    await eventually(async () => files.length === 2);
    expect(await status().getByText('100 workspaces saved as').count()).toBe(2);
  });

  test('an export without a session leads to sign-in and back to the page', async () => {
    await page.context().clearCookies();
    await link('CSV').click();
    await page.waitForURL((url) => url.origin === e2e.testApp.serviceOrigin);
    await signInAtService(page);
    await page.waitForURL(`${e2e.testApp.origin}/workspaces`);
    expect(await link('CSV').count()).toBe(1);
  });

  test('during an export, the browser asks for confirmation before the user leaves the page', async () => {
    respondToLaterPages(() => {});
    await link('CSV').click();
    await hundredItems();
    const asked = page.waitForEvent('dialog');
    void page.reload().catch(() => null); // rejects, because the test dismisses the dialog
    const dialog = await asked;
    expect(dialog.type()).toBe('beforeunload');
    await dialog.dismiss();
    expect(await status().count()).toBe(1);
  });

  test('a click with a modifier key on an export link is left to the browser', async () => {
    await link('CSV').click({ modifiers: ['Alt'] });
    expect(await status().count()).toBe(0);
  });
});
