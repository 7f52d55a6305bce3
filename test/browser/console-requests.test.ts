import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
import { createDeferred } from '../../src/promises.ts';
import { API_PATH, WORKSPACES_PATH as LIST } from '../support/constants.ts';
import { bodyOf, isFocused, outcomeOf, press, send, startConsole } from '../support/e2e/console-page.ts';
import { comeBackTo, sessionOf } from '../support/e2e/session-of.ts';
import { pageFaults } from '../support/e2e/page-checks.ts';

const at = startConsole();

const historyOf = async (page: Page) => page.evaluate("sessionStorage.getItem('console-history')");

describe('a request', () => {
  test('is sent as it is composed, by Ctrl and Enter too', async () => {
    await using watched = await at.open();
    const { page, context } = watched;
    let came: { method: string; url: string; headers: Record<string, unknown>; body: string } | undefined;
    at.e2e.testApp.intercept = (req, res) => {
      if (req.url?.startsWith(API_PATH) !== true) return false;
      let text = '';
      req.on('data', (chunk: Buffer) => (text += chunk.toString()));
      req.on('end', () => {
        came = { method: req.method ?? '', url: req.url ?? '', headers: req.headers, body: text };
        res.writeHead(201, { 'content-type': 'application/json' }).end('{"made":true}');
      });
      return true;
    };
    await page.getByLabel('Method', { exact: true }).selectOption('Other…');
    await page.getByLabel('Other method').fill('PROPPATCH');
    // A pasted address is whole: it becomes a path and the rows, and none stays beside them.
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.evaluate(`navigator.clipboard.writeText('${at.e2e.testApp.origin}${API_PATH}?a=b%26c')`);
    await page.getByLabel('Path').fill('');
    await page.keyboard.press('Control+V');
    await page.getByText('Headers', { exact: true }).first().click();
    await page.getByLabel('Name of the header').fill('X-Thing');
    await page.getByLabel('Value of the header').fill('one');
    await page.getByText('Body', { exact: true }).first().click();
    await page.getByLabel('Body', { exact: true }).fill('{"é":1}');
    await page.keyboard.press('Control+Enter');
    await page.getByText('201 Created').waitFor();
    expect(came).toMatchObject({
      method: 'PROPPATCH',
      url: `${API_PATH}?a=b%26c`,
      body: '{"é":1}',
      headers: { 'x-thing': 'one', 'content-type': 'application/json' },
    });
    expect(watched.complaints).toEqual([]);
  });

  test('that can’t be sent is marked where it is wrong, and never leaves', async () => {
    await using watched = await at.open();
    const { page } = watched;
    const asked: string[] = [];
    page.on('request', (each) => {
      if (!each.url().includes('/assets/')) asked.push(each.url()); // the page's own may come late
    });
    await page.getByLabel('Path').fill('https://other.example/api/');
    expect(await page.locator('[data-preview]').innerText()).toBe('no address under /api/ that can be sent');
    await page.getByLabel('Path').fill('/api/../auth/logout');
    await page.getByText('Headers', { exact: true }).first().click();
    await page.getByLabel('Name of the header').fill('Authorization');
    await page.getByLabel('Value of the header').fill('Bearer mine');
    await press(page, 'Send');
    expect(await outcomeOf(page).innerText()).toMatch(/Not sent/);
    const path = page.getByLabel('Path');
    expect(await isFocused(path)).toBe(true);
    expect(await path.getAttribute('aria-invalid')).toBe('true');
    expect(await page.locator('#path-fault').innerText()).toMatch(/would go to \/auth\/logout/);
    expect(await page.getByText('The gateway adds the access token itself').isVisible()).toBe(true);
    expect(await pageFaults(watched)).toEqual([]);
    expect(asked).toEqual([]);
    expect(await historyOf(page)).toBeNull();
  });

  test('goes where the preview says, however its path is typed', async () => {
    await using watched = await at.open();
    const { page } = watched;
    const path = page.getByLabel('Path');
    const preview = page.locator('[data-preview]');
    for (const refused of ['/auth/../api/things', String.raw`\api\things`, '/api/things#part']) {
      await path.fill(refused);
      expect(await preview.innerText()).toBe('no address under /api/ that can be sent');
      await press(page, 'Send');
      expect(await outcomeOf(page).innerText()).toMatch(/Not sent/);
    }
    const meant = `${LIST}?limit=2`;
    for (const typed of [meant, meant.slice(1), at.e2e.testApp.origin + meant]) {
      await path.fill(typed);
      expect(await preview.innerText()).toBe(meant);
      const [asked] = await Promise.all([page.waitForRequest('**/api/**'), path.press('Enter')]);
      expect(asked.url()).toBe(at.e2e.testApp.origin + meant);
      expect(await path.inputValue()).toBe(LIST);
      expect(await preview.innerText()).toBe(meant);
      await outcomeOf(page).filter({ hasText: '200 OK' }).waitFor();
    }
  });

  test('is followed by the next page with the same limit, to the end', async () => {
    await using watched = await at.open();
    const { page } = watched;
    await page.getByLabel('Value of the parameter').fill('60');
    await send(page);
    for (const pages of [2, 3]) {
      await page.getByRole('button', { name: 'Follow next' }).press('Enter');
      await page
        .locator('[data-history-items] li')
        .nth(pages - 1)
        .waitFor();
      await outcomeOf(page).filter({ hasText: '200 OK' }).waitFor();
    }
    expect(await page.getByRole('button', { name: 'Follow next' }).count()).toBe(0);
    expect(await isFocused(page.getByRole('heading', { name: 'Response' }))).toBe(true);
    const lists = at.e2e.testApp.serviceRequests.filter(({ url }) => url.includes('limit=60'));
    expect(lists).toHaveLength(3);
    expect(await page.getByLabel('Value of the parameter').first().inputValue()).toBe('60');
  });

  test('that is under way can be cancelled, and what came of it stays', async () => {
    await using watched = await at.open();
    const { page } = watched;
    const { promise: gone, resolve: leave } = createDeferred<void>();
    at.e2e.testApp.intercept = (req, res) => {
      if (req.url?.startsWith(API_PATH) !== true) return false;
      res.writeHead(200, { 'content-type': 'text/plain' });
      res.write('the beginning');
      res.on('close', () => leave());
      return true;
    };
    await page.getByLabel('Path').fill(API_PATH);
    await press(page, 'Send');
    await page.getByText('13 bytes so far').waitFor();
    await press(page, 'Cancel');
    await page
      .getByText(/Cancelled after 13 bytes: the response is incomplete/)
      .first()
      .waitFor();
    expect(await bodyOf(page).innerText()).toBe('the beginning');
    expect(await isFocused(page.getByRole('button', { name: 'Send' }))).toBe(true);
    expect(await page.getByRole('button', { name: 'Cancel', exact: true }).isVisible()).toBe(false);
    await gone; // at the service, too
  });

  test('that is under way ends with the session of its reader, and nothing of it is kept', async () => {
    await using watched = await at.open();
    const { page, context } = watched;
    const { promise: gone, resolve: leave } = createDeferred<void>();
    at.e2e.testApp.intercept = (req, res) => {
      if (req.url?.startsWith(API_PATH) !== true) return false;
      res.on('close', () => leave());
      res.writeHead(200, { 'content-type': 'text/plain' }).write('the beginning');
      return true;
    };
    await page.getByLabel('Method', { exact: true }).selectOption('POST');
    await page.getByLabel('Path').fill(API_PATH);
    await press(page, 'Send');
    await page.getByText('13 bytes so far').waitFor();
    await (await sessionOf(context, at.e2e.testApp)).end();
    await comeBackTo(page);
    await page.getByRole('heading', { name: 'Your session has ended' }).waitFor();
    await gone;
    expect(await page.content()).not.toContain('the beginning');
    expect(await historyOf(page)).toBeNull();
    expect(watched.complaints).toEqual([]);
  });
});

describe('a copy', () => {
  test('as curl works in a shell, and holds no cookie', async () => {
    await using watched = await at.open();
    const { page, context } = watched;
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.getByLabel('Method', { exact: true }).selectOption('DELETE');
    await page.getByLabel('Path').fill(`${API_PATH}/it's`);
    await press(page, 'Copy as curl');
    await page.getByText('The curl command is copied.').waitFor();
    const command = String(await page.evaluate('navigator.clipboard.readText()'));
    const cookie = (await context.cookies()).find(({ name }) => name === 'cloakroom');
    expect(command).not.toContain(cookie?.value);
    at.respondWith(200, {}, 'deleted');
    const { stdout } = await promisify(execFile)('sh', ['-c', `${command} --silent`], {
      env: { ...process.env, COOKIE: cookie?.value },
    });
    expect(stdout).toBe('deleted');
  });

  test('as fetch works in the page', async () => {
    await using watched = await at.open();
    const { page, context } = watched;
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await press(page, 'Copy as fetch');
    await page.getByText('The fetch code is copied.').waitFor();
    const code = String(await page.evaluate('navigator.clipboard.readText()'));
    expect(await page.evaluate(`(async () => { ${code}\n return response.status; })()`)).toBe(200);
  });

  test('is no longer spoken of once the request is another', async () => {
    await using watched = await at.open();
    const { page, context } = watched;
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await send(page);
    const said = page.getByText('The fetch code is copied.');
    const changes = [
      async () => press(page, 'Add a parameter'),
      async () => press(page, 'Remove the parameter'),
      async () => page.getByLabel('Path').fill(API_PATH),
      async () => page.locator('[data-history-items] button').first().click(),
      async () => press(page, 'Follow next'),
    ];
    for (const change of changes) {
      await press(page, 'Copy as fetch');
      await said.waitFor();
      await change();
      await said.waitFor({ state: 'detached' });
    }
    expect(watched.complaints).toEqual([]);
  });

  test('that the browser refuses is selected for the reader', async () => {
    await using watched = await at.open();
    const { page } = watched;
    await page.evaluate(`navigator.clipboard.writeText = () => Promise.reject(new Error('not allowed'))`);
    await press(page, 'Copy as fetch');
    const field = page.getByLabel('Text to copy');
    await field.waitFor();
    expect(await field.evaluate((text) => (text as unknown as { selectionEnd: number }).selectionEnd)).toBe(
      (await field.inputValue()).length,
    );
    expect(await pageFaults(watched)).toEqual([]);
  });
});

describe('the history', () => {
  test('fills the form again, can be cleared, and goes with a sign-out', async () => {
    await using watched = await at.open();
    const { page } = watched;
    await page.getByLabel('Method', { exact: true }).selectOption('POST');
    await page.getByText('Body', { exact: true }).first().click();
    await page.getByLabel('Body', { exact: true }).fill('[1]');
    at.respondWith(200, {}, 'answered');
    await send(page, API_PATH);
    await page.reload();
    expect(await page.getByLabel('Path').inputValue()).toBe(LIST);
    await page.getByRole('button', { name: `POST ${API_PATH}` }).click();
    expect(await page.getByLabel('Path').inputValue()).toBe(API_PATH);
    expect(await page.getByLabel('Body', { exact: true }).inputValue()).toBe('[1]');
    expect(await page.evaluate('JSON.stringify({ ...sessionStorage })')).not.toContain('answered');
    await press(page, 'Clear the history');
    expect(await historyOf(page)).toBeNull();

    await send(page);
    expect(await historyOf(page)).not.toBeNull();
    await press(page, 'Sign out');
    await page.waitForURL(`${at.e2e.testApp.origin}/`);
    expect(await historyOf(page)).toBeNull();
  });

  test('says what became of each request, and that one is filled in, not sent', async () => {
    await using watched = await at.open();
    const { page, context } = watched;
    const items = page.locator('[data-history-items] button');
    await send(page);
    await press(page, 'Follow next');
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

    const calls = at.e2e.testApp.serviceRequests.length;
    await items.filter({ hasText: 'next=' }).click();
    await page.getByText('Filled in: press Send.').waitFor();
    expect(await isFocused(page.getByLabel('Path'))).toBe(true);
    const token = await page.getByLabel('Value of the parameter next').inputValue();
    expect(token.length).toBeGreaterThan(16);
    expect(at.e2e.testApp.serviceRequests).toHaveLength(calls);
    expect(await pageFaults(watched)).toEqual([]);
    await press(page, 'Send');
    await page.getByText('Filled in').waitFor({ state: 'detached' });
  });

  test('says of a request whose page was left before its answer that none was seen', async () => {
    await using watched = await at.open();
    const { page } = watched;
    at.e2e.testApp.intercept = ({ url = '' }) => url.startsWith(API_PATH);
    await page.getByLabel('Path').fill(API_PATH);
    await press(page, 'Send');
    const outcome = page.locator('.history__outcome');
    await outcome.waitFor({ state: 'attached' });
    expect(await outcome.textContent()).toBe('');
    await page.evaluate('Storage.prototype.setItem = () => {}'); // it comes to no last word
    await page.reload();
    expect(await outcome.textContent()).toBe('no response seen');
  });

  test('says where a body was too long to keep', async () => {
    await using watched = await at.open();
    const { page } = watched;
    await page.getByLabel('Method', { exact: true }).selectOption('PUT');
    await page.getByText('Body', { exact: true }).first().click();
    await page.getByLabel('Body', { exact: true }).fill('x'.repeat(20_001));
    at.respondWith(200, {});
    await send(page, API_PATH);
    await page.getByRole('button', { name: `PUT ${API_PATH}` }).click();
    await page.getByText('Filled in without its body').waitFor();
    expect(await page.getByLabel('Body', { exact: true }).inputValue()).toBe('');
  });
});
