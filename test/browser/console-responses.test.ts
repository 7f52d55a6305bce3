import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { beforeEach, describe, expect, test } from '@jest/globals';
import type { Page } from 'playwright-core';
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
import { signInAtService, type WatchedPage } from '../support/e2e/watched-page.ts';
import { eventually } from '../support/eventually.ts';

const at = startConsole();

const sentencesOf = async (page: Page) => page.locator('[data-sentences]').innerText();

describe('responses in the console', () => {
  let watched: WatchedPage;
  let page: Page;
  beforeEach(async () => {
    watched = await at.open();
    ({ page } = watched);
  });

  test('a response is shown with its sender, timing, headers and body', async () => {
    expect(await send(page)).toMatch(/^200 OK from the service: [\d,]+ bytes in [\d.,]+ ms\.$/);
    expect(await sentencesOf(page)).toMatch(
      /The service sent this response[\s\S]*did not refresh it or repeat the request/,
    );
    expect(await page.locator('[data-timing] svg rect').count()).toBe(4);
    expect(await page.locator('[data-timing] dl').innerText()).toMatch(
      /Session[\s\S]*Token[\s\S]*Service[\s\S]*Total/,
    );
    await page.locator('[data-response] summary').click();
    expect(await page.getByRole('rowheader', { name: 'via' }).isVisible()).toBe(true);
    expect(await bodyOf(page).innerText()).toMatch(/^\{\n {2}"value": \[\n/);
  });

  test('a response does not scroll the page if the user has scrolled away', async () => {
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await send(page);
    const { promise: asked, resolve: ask } = createDeferred<() => void>();
    at.e2e.respondTo(/[?&]next=/, (res) => ask(() => res.end('{}')));
    await press(page, 'Next page');
    const respond = await asked;
    await page.evaluate('scrollTo(0, 0)');
    respond();
    await outcomeOf(page).filter({ hasText: '200 OK' }).waitFor();
    await page.locator('[data-response]:not([aria-busy])').waitFor();
    expect(await page.evaluate('scrollY')).toBe(0);
  });

  test('the console shows that the gateway refreshed the token or repeated the request', async () => {
    at.e2e.testApp.advanceClock(901_000);
    await send(page);
    expect(await sentencesOf(page)).toMatch(/had expired, so the gateway refreshed it/);
    at.e2e.testApp.advanceClock(60_000); // a younger token is not refreshed after a 401
    at.e2e.respondTo(new RegExp(`^${LIST}`), (res) => {
      res.writeHead(401).end();
      at.e2e.testApp.intercept = () => false;
    });
    await send(page);
    expect(await sentencesOf(page)).toMatch(/rejected the access token with 401.*repeated the request once/);
    expect(watched.browserErrors).toEqual([]);
  });

  test('an error response from the gateway is shown with its reason and a remedy', async () => {
    expect(await send(page, '/api/nothing')).toMatch(/^404 Not Found from the gateway/);
    const problem = await page.locator('[data-problem]').innerText();
    expect(problem).toMatch(/path_not_allowed[\s\S]*Use a path under[\s\S]*[\da-f-]{36}/);
    expect(await pageViolations(watched)).toEqual([]);
  });

  test('after a request without a session, the console offers sign-in, which leads back to the console with an empty history', async () => {
    await page.context().clearCookies({ name: 'cloakroom' });
    expect(await send(page)).toMatch(/^401 Unauthorized from the gateway/);
    await page.getByRole('link', { name: 'Sign in and return here' }).click();
    await signInAtService(page);
    await page.waitForURL(`${at.e2e.testApp.origin}/console`);
    expect(await page.locator('[data-history-items] li').count()).toBe(0);
  });

  test('a response that is cut off is shown as incomplete', async () => {
    const { promise: begun, resolve: begin } = createDeferred<() => void>();
    at.e2e.respondTo(STARTS_WITH_API_PATH, (res) => {
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      res.write('{"next":"n"');
      begin(() => res.destroy());
    });
    const outcome = send(page, API_PATH);
    await page.getByText('11 bytes so far').waitFor(); // a failure before the page has read these bytes would discard them
    const cutOff = await begun;
    cutOff();
    expect(await outcome).toMatch(/The connection failed after 11 bytes. The response is incomplete/);
    expect(await page.getByRole('button', { name: 'Next page' }).count()).toBe(0);
  });

  test('if no response arrives, the console shows the reason', async () => {
    const context = page.context();
    await context.setOffline(true);
    expect(await send(page)).toMatch(/This device is offline/);
    await context.setOffline(false);
    await context.route(`${at.e2e.testApp.origin}/api/**`, async (route) => route.abort());
    expect(await send(page)).toMatch(/connection to Cloakroom failed/);
  });

  test('a redirect is reported but not followed', async () => {
    at.respondWith(302, { location: '/led-astray' });
    expect(await send(page, API_PATH)).toMatch(/responded with a redirect/);
    const requestsTo = (path: string) =>
      at.e2e.testApp.logged.filter((line) => line.includes(`"path":"${path}"`)).length;
    await eventually(async () => requestsTo(API_PATH) > 0); // logged once the response is sent
    expect(requestsTo('/led-astray')).toBe(0);
  });

  test('a response with a content encoding is shown with its encoded and decoded sizes', async () => {
    const gzipped = gzipSync('x'.repeat(5_000));
    at.respondWith(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }, gzipped);
    await send(page, API_PATH);
    const sizes = page.locator('[data-size]').filter({ hasText: 'transferred' });
    expect(await sizes.innerText()).toBe(`5,000 bytes, ${gzipped.length} transferred (gzip)`);
  });

  test.each([
    ['things', 'application/json', '{"a":1}', 'things.json'],
    ['things', 'text/plain', '{"a":1}', 'things'],
    ['things/a.geojson', 'application/json', '{"a":1}', 'a.geojson'],
    ['things/a.png', 'image/png', Buffer.from([0x89, 0x50, 0, 0xff, 1]), 'a.png'],
  ])('a response from the path %s with the type %s is saved byte for byte', async (end, type, body, name) => {
    at.respondWith(200, { 'content-type': type }, body);
    await send(page, API_PATH.replace('things', end));
    const isBinary = type === 'image/png';
    expect(await page.getByText('The body is binary').isVisible()).toBe(isBinary);
    expect(await bodyOf(page).isVisible()).toBe(!isBinary);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: `Save body as ${name}`, exact: true }).click(),
    ]);
    expect(download.suggestedFilename()).toMatch(new RegExp(`^${name}`)); // Chromium adds .txt to a plain name
    expect(await readFile(await download.path())).toEqual(Buffer.from(body));
    expect(watched.browserErrors).toEqual([]);
  });

  test('a response that the page fails to show is reported, and the next response is shown as usual', async () => {
    await page.evaluate(
      "CSS.highlights.set = () => { delete CSS.highlights.set; throw new Error('no colours'); }",
    );
    expect(await send(page)).toMatch(/^This page could not show the response/);
    expect(await page.locator('[data-response]').isVisible()).toBe(false);
    expect(await page.getByRole('button', { name: 'Cancel' }).isVisible()).toBe(false);
    expect(await send(page)).toMatch(/^200 OK/);
    expect(watched.browserErrors).toEqual(['no colours']);
  });

  test('copying a response body shows a confirmation next to the button until the next response', async () => {
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await send(page);
    await press(page, 'Copy body');
    const confirmation = page.locator('[data-response]').getByText('The body was copied.');
    await confirmation.waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^\{"value":\[/);
    await press(page, 'Next page');
    await confirmation.waitFor({ state: 'detached' });
  });

  test('the console tells the user if a response body is too large to copy', async () => {
    await send(page);
    await page.evaluate("Blob.prototype.text = () => Promise.reject(new Error('no memory'))");
    await press(page, 'Copy body');
    await page.getByText('The body is too large to copy. Save it instead.').waitFor();
    expect(watched.browserErrors).toEqual([]);
  });
});

test.each([360, 1280] as const)(
  'at a width of %d px, a response scrolls into view without moving the focus',
  async (width) => {
    const { page } = await at.open({ width });
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await send(page);
    const outcome = await outcomeOf(page).boundingBox();
    expect(outcome?.y).toBeGreaterThanOrEqual(0);
    expect(outcome?.y).toBeLessThan(100);
    expect(await isFocused(page.getByRole('button', { name: 'Send', exact: true }))).toBe(true);
  },
);

const MARKUP = `<img src=x onerror=alert(1)></pre><script>alert(1)</script>`;

test.each([
  ['markup', 'application/json', JSON.stringify({ [MARKUP]: MARKUP })],
  ['text direction overrides', 'text/plain', `\u202e${'abc '.repeat(50)}\u2067\n`],
  ['one word of ten thousand letters', 'application/json', JSON.stringify('x'.repeat(10_000))],
  ['ten thousand nested arrays', 'application/json', '['.repeat(10_000) + ']'.repeat(10_000)],
  ['invalid UTF-8', 'application/json', Buffer.from([0x22, 0xff, 0xfe, 0x22])],
  ['stacked combining marks', 'text/plain', `a${'\u0301'.repeat(5_000)}`],
])('a hostile response with %s is shown as text', async (_what, type, text) => {
  const watched = await at.open({ width: 360 });
  const { page } = watched;
  at.respondWith(200, { 'content-type': type, 'x-long': 'y'.repeat(3_000), 'x-markup': MARKUP }, text);
  expect(await send(page, API_PATH)).toMatch(/^200 OK/);
  await page.locator('[data-response] summary').click();
  expect(await page.locator('[data-response] img, [data-response] script').count()).toBe(0);
  expect(await pageViolations(watched)).toEqual([]);
  expect(watched.browserErrors).toEqual([]);
});

test('an endless response is read up to the limit', async () => {
  // Lower the limit from 64 MiB to 1 MiB.
  const { page } = await at.e2e.openSignedIn('/console', {}, async (context) =>
    context.route('**/console/console.js', async (route) => {
      const response = await route.fetch();
      const body = (await response.text()).replace('64*1024*1024', '1024*1024');
      await route.fulfill({ response, body });
    }),
  );
  const chunk = Buffer.alloc(1_000_000, 'x');
  at.e2e.respondTo(STARTS_WITH_API_PATH, (res) => {
    res.writeHead(200, { 'content-type': 'text/plain' });
    const more = () => {
      while (!res.destroyed && res.write(chunk));
    };
    res.on('drain', more);
    more();
  });
  expect(await send(page, API_PATH)).toMatch(/The console reads at most 1,048,576 bytes/);
});

test('the console never receives, shows or stores a token', async () => {
  const { page, context } = await at.e2e.open();
  const tokens = { accessToken: 'sentinel-access', refreshToken: 'sentinel-refresh' };
  const { cookie } = await at.e2e.testApp.createSession(tokens);
  const [name = '', value = ''] = cookie.split('=');
  await context.addCookies([{ name, value, url: at.e2e.testApp.origin, httpOnly: true }]);
  const received: string[] = [];
  page.on('response', (response) => {
    received.push(JSON.stringify(response.headers()));
    void response.text().then(
      (text) => received.push(text),
      () => {},
    );
  });
  at.respondWith(200, { 'content-type': 'application/json', 'set-cookie': 'sentinel=1' }, '{"a":1}');
  await page.goto(`${at.e2e.testApp.origin}/console`);
  await send(page, API_PATH);
  expect(at.e2e.testApp.serviceRequests.at(-1)?.headers.authorization).toBe('Bearer sentinel-access');
  await press(page, 'Copy as curl');
  const stored = await page.evaluate(
    'document.documentElement.outerHTML + document.cookie + JSON.stringify([{ ...sessionStorage }, { ...localStorage }])',
  );
  expect(received.length).toBeGreaterThan(5);
  expect([stored, ...received].join('\n')).not.toContain('sentinel');
});
