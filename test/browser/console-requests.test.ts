import { execFile } from 'node:child_process';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { BrowserContext, Page } from 'playwright-core';
import { createDeferred } from '../../src/promises.ts';
import { API_PATH, WORKSPACES_PATH as LIST } from '../support/constants.ts';
import {
  STARTS_WITH_API_PATH,
  bodyOf,
  isFocused,
  outcomeOf,
  press,
  send,
  startConsole,
} from '../support/e2e/console-page.ts';
import { pageViolations } from '../support/e2e/page-checks.ts';
import { returnToTab, sessionControls } from '../support/e2e/session-controls.ts';
import type { WatchedPage } from '../support/e2e/watched-page.ts';

const at = startConsole();

let watched: WatchedPage;
let page: Page;
let context: BrowserContext;
beforeEach(async () => {
  watched = await at.open();
  ({ page, context } = watched);
  await context.grantPermissions(['clipboard-read', 'clipboard-write']);
});

const storedHistory = async () => page.evaluate("sessionStorage.getItem('console-history')");
const chooseMethod = async (method: string) =>
  page.getByLabel('Method', { exact: true }).selectOption(method);
const open = async (part: 'Headers' | 'Body') => page.getByText(part, { exact: true }).first().click();
const bodyField = () => page.getByLabel('Body', { exact: true });
const clipboard = async () => String(await page.evaluate('navigator.clipboard.readText()'));

/** Sends a request whose response never ends. `closed` resolves once the service sees the connection close. */
async function sendWithoutEnd() {
  const { promise: closed, resolve: close } = createDeferred<void>();
  at.e2e.respondTo(STARTS_WITH_API_PATH, (res) => {
    res.on('close', () => close());
    res.writeHead(200, { 'content-type': 'text/plain' }).write('the beginning');
  });
  await page.getByLabel('Path').fill(API_PATH);
  await press(page, 'Send');
  await page.getByText('13 bytes so far').waitFor();
  return { closed };
}

describe('requests from the console', () => {
  test('Ctrl+Enter sends the request that the form describes', async () => {
    let received: unknown;
    const receive = async (res: ServerResponse, req: IncomingMessage) => {
      received = { method: req.method, url: req.url, headers: req.headers, body: await text(req) };
      res.writeHead(201, { 'content-type': 'application/json' }).end('{"made":true}');
    };
    at.e2e.respondTo(STARTS_WITH_API_PATH, (res, req) => void receive(res, req));
    await chooseMethod('Other…');
    await page.getByLabel('Other method').fill('PROPPATCH');
    // The query in a pasted URL replaces the parameter rows.
    await page.evaluate(`navigator.clipboard.writeText('${at.e2e.testApp.origin}${API_PATH}?a=b%26c')`);
    await page.getByLabel('Path').fill('');
    await page.keyboard.press('Control+V');
    await open('Headers');
    await page.getByLabel('Name of the header').fill('X-Thing');
    await page.getByLabel('Value of the header').fill('one');
    await open('Body');
    await bodyField().fill('{"é":1}');
    await page.keyboard.press('Control+Enter');
    await page.getByText('201 Created').waitFor();
    expect(received).toMatchObject({
      method: 'PROPPATCH',
      url: `${API_PATH}?a=b%26c`,
      body: '{"é":1}',
      headers: { 'x-thing': 'one', 'content-type': 'application/json' },
    });
    expect(watched.browserErrors).toEqual([]);
  });

  test('a request with invalid fields is not sent, and the fields are marked', async () => {
    const urls: string[] = [];
    page.on('request', (request) => {
      if (!request.url().includes('/assets/')) urls.push(request.url()); // the page's assets may load late
    });
    const path = page.getByLabel('Path');
    await path.fill('https://other.example/api/');
    expect(await page.locator('[data-preview]').innerText()).toBe('none (correct the path)');
    await path.fill('/api/../auth/logout');
    await open('Headers');
    await page.getByLabel('Name of the header').fill('Authorization');
    await page.getByLabel('Value of the header').fill('Bearer mine');
    await press(page, 'Send');
    expect(await outcomeOf(page).innerText()).toMatch(/Not sent/);
    expect(await isFocused(path)).toBe(true);
    expect(await path.getAttribute('aria-invalid')).toBe('true');
    expect(await page.locator('#path-issue').innerText()).toMatch(/would go to \/auth\/logout/);
    expect(await page.getByText('The gateway adds the access token').isVisible()).toBe(true);
    expect(await pageViolations(watched)).toEqual([]);
    expect(urls).toEqual([]);
    expect(await storedHistory()).toBeNull();
  });

  test('a request goes to the target shown in the preview, however the user types the path', async () => {
    const path = page.getByLabel('Path');
    const preview = page.locator('[data-preview]');
    for (const refused of ['/auth/../api/things', String.raw`\api\things`, '/api/things#part']) {
      await path.fill(refused);
      expect(await preview.innerText()).toBe('none (correct the path)');
      await press(page, 'Send');
      expect(await outcomeOf(page).innerText()).toMatch(/Not sent/);
    }
    const target = `${LIST}?limit=2`;
    for (const typed of [target, target.slice(1), at.e2e.testApp.origin + target]) {
      await path.fill(typed);
      expect(await preview.innerText()).toBe(target);
      const [request] = await Promise.all([page.waitForRequest('**/api/**'), path.press('Enter')]);
      expect(request.url()).toBe(at.e2e.testApp.origin + target);
      expect(await path.inputValue()).toBe(LIST);
      expect(await preview.innerText()).toBe(target);
      await outcomeOf(page).filter({ hasText: '200 OK' }).waitFor();
    }
  });

  test('the Next page button requests each subsequent page with the same limit, up to the last page', async () => {
    await page.getByLabel('Value of the parameter').fill('60');
    await send(page);
    const items = page.locator('[data-history-items] li');
    for (const pages of [2, 3]) {
      await page.getByRole('button', { name: 'Next page' }).press('Enter');
      await items.nth(pages - 1).waitFor();
      await outcomeOf(page).filter({ hasText: '200 OK' }).waitFor();
    }
    expect(await page.getByRole('button', { name: 'Next page' }).count()).toBe(0);
    expect(await isFocused(page.getByRole('heading', { name: 'Response' }))).toBe(true);
    const lists = at.e2e.testApp.serviceRequests.filter(({ url }) => url.includes('limit=60'));
    expect(lists).toHaveLength(3);
    expect(await page.getByLabel('Value of the parameter').first().inputValue()).toBe('60');
  });

  test('after a request is cancelled, the part of the response received so far stays visible', async () => {
    const { closed } = await sendWithoutEnd();
    await press(page, 'Cancel');
    const words = page.getByText(/Cancelled after 13 bytes. The response is incomplete/);
    await words.first().waitFor();
    expect(await bodyOf(page).innerText()).toBe('the beginning');
    expect(await isFocused(page.getByRole('button', { name: 'Send' }))).toBe(true);
    expect(await page.getByRole('button', { name: 'Cancel', exact: true }).isVisible()).toBe(false);
    await closed;
  });

  test('a request is aborted when the session ends, and is not stored in the history', async () => {
    await chooseMethod('POST');
    const { closed } = await sendWithoutEnd();
    await (await sessionControls(context, at.e2e.testApp)).end();
    await returnToTab(page);
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    await closed;
    expect(await page.content()).not.toContain('the beginning');
    expect(await storedHistory()).toBeNull();
    expect(watched.browserErrors).toEqual([]);
  });
});

describe('the copy buttons', () => {
  test('Copy as curl produces a command that works in a shell and contains no cookie', async () => {
    await chooseMethod('DELETE');
    await page.getByLabel('Path').fill(`${API_PATH}/it's`);
    await press(page, 'Copy as curl');
    await page.getByText('The curl command was copied.').waitFor();
    const command = await clipboard();
    const cookie = (await context.cookies()).find(({ name }) => name === 'cloakroom');
    expect(command).not.toContain(cookie?.value);
    at.respondWith(200, {}, 'deleted');
    const { stdout } = await promisify(execFile)('sh', ['-c', `${command} --silent`], {
      env: { ...process.env, COOKIE: cookie?.value },
    });
    expect(stdout).toBe('deleted');
  });

  test('Copy as fetch produces code that works in the page', async () => {
    await press(page, 'Copy as fetch');
    await page.getByText('The fetch code was copied.').waitFor();
    const code = await clipboard();
    expect(await page.evaluate(`(async () => { ${code}\n return response.status; })()`)).toBe(200);
  });

  test('copying a request shows a confirmation until the request changes', async () => {
    await send(page);
    const confirmation = page.getByText('The fetch code was copied.');
    const changes = [
      async () => press(page, 'Add parameter'),
      async () => press(page, 'Remove the parameter'),
      async () => page.getByLabel('Path').fill(API_PATH),
      async () => page.locator('[data-history-items] button').first().click(),
      async () => press(page, 'Next page'),
    ];
    for (const change of changes) {
      await press(page, 'Copy as fetch');
      await confirmation.waitFor();
      await change();
      await confirmation.waitFor({ state: 'detached' });
    }
    expect(watched.browserErrors).toEqual([]);
  });

  test('if the browser refuses access to the clipboard, the console selects the text for the user', async () => {
    await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))`);
    await press(page, 'Copy as fetch');
    const field = page.getByLabel('Text to copy');
    await field.waitFor();
    expect(
      await field.evaluate((element) => (element as unknown as { selectionEnd: number }).selectionEnd),
    ).toBe((await field.inputValue()).length);
    expect(await pageViolations(watched)).toEqual([]);
  });
});

describe('the history', () => {
  test('the history can refill the form, can be cleared, and is deleted at sign-out', async () => {
    await chooseMethod('POST');
    await open('Body');
    await bodyField().fill('[1]');
    at.respondWith(200, {}, 'a response');
    await send(page, API_PATH);
    await page.reload();
    expect(await page.getByLabel('Path').inputValue()).toBe(LIST);
    await page.getByRole('button', { name: `POST ${API_PATH}` }).click();
    expect(await page.getByLabel('Path').inputValue()).toBe(API_PATH);
    expect(await bodyField().inputValue()).toBe('[1]');
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).not.toContain('a response');
    await press(page, 'Clear history');
    expect(await storedHistory()).toBeNull();

    await send(page);
    expect(await storedHistory()).not.toBeNull();
    await press(page, 'Sign out');
    await page.waitForURL(`${at.e2e.testApp.origin}/`);
    expect(await storedHistory()).toBeNull();
  });

  test('the history shows the outcome of each request, and selecting an entry fills in the form but sends nothing', async () => {
    const items = page.locator('[data-history-items] button');
    await send(page);
    await press(page, 'Next page');
    await items.filter({ hasText: /next=.* 200 / }).waitFor();
    expect(await items.nth(1).innerText()).toMatch(/^GET\s+\S+\?limit=10\s+200\s+\d\d:\d\d:\d\d$/);
    expect(await items.first().innerText()).toMatch(/next=.{8}….{8}\s/);
    await page.reload();
    await send(page, '/api/nothing');
    await context.setOffline(true);
    await send(page, API_PATH);
    await context.setOffline(false);
    expect(await items.first().innerText()).toMatch(/\soffline\s/);
    expect(await items.nth(1).innerText()).toMatch(/\s404\s/);

    const requests = at.e2e.testApp.serviceRequests.length;
    await items.filter({ hasText: 'next=' }).click();
    await page.getByText('Request loaded. Select Send to send it.').waitFor();
    expect(await isFocused(page.getByLabel('Path'))).toBe(true);
    const cursor = await page.getByLabel('Value of the parameter next').inputValue();
    expect(cursor.length).toBeGreaterThan(16);
    expect(at.e2e.testApp.serviceRequests).toHaveLength(requests);
    expect(await pageViolations(watched)).toEqual([]);
    await press(page, 'Send');
    await page.getByText('Request loaded').waitFor({ state: 'detached' });
  });

  test('the history shows an unknown outcome if the user left the page before the response arrived', async () => {
    at.e2e.respondTo(STARTS_WITH_API_PATH, () => {});
    await page.getByLabel('Path').fill(API_PATH);
    await press(page, 'Send');
    const outcome = page.locator('.history__outcome');
    await outcome.waitFor({ state: 'attached' });
    expect(await outcome.textContent()).toBe('');
    await page.evaluate('Storage.prototype.setItem = () => {}'); // as if the page had been closed immediately
    await page.reload();
    expect(await outcome.textContent()).toBe('outcome unknown');
  });

  test('the console tells the user if a body was too long to keep in the history', async () => {
    await chooseMethod('PUT');
    await open('Body');
    await bodyField().fill('x'.repeat(20_001));
    at.respondWith(200, {});
    await send(page, API_PATH);
    await page.getByRole('button', { name: `PUT ${API_PATH}` }).click();
    await page.getByText('Request loaded without its body').waitFor();
    expect(await bodyField().inputValue()).toBe('');
  });
});
