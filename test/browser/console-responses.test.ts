import { readFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { describe, expect, test } from '@jest/globals';
import type { BrowserContext } from 'playwright-core';
import { createDeferred } from '../../src/promises.ts';
import { API_PATH, WORKSPACES_PATH as LIST } from '../support/constants.ts';
import { bodyOf, isFocused, outcomeOf, press, send, startConsole } from '../support/e2e/console-page.ts';
import { pageFaults } from '../support/e2e/page-checks.ts';
import { passService } from '../support/e2e/watched-page.ts';
import { eventually } from '../support/eventually.ts';

const at = startConsole();

describe('the answer', () => {
  test('of a usual call is told whole', async () => {
    await using watched = await at.open();
    const { page } = watched;
    expect(await send(page)).toMatch(/^200 OK from the service: [\d,]+ bytes in [\d.,]+ ms\.$/);
    const told = await page.locator('[data-sentences]').innerText();
    expect(told).toMatch(/The response comes from the service/);
    expect(told).toMatch(/nothing was refreshed or repeated/);
    expect(await page.locator('[data-timing] svg rect').count()).toBe(4);
    expect(await page.locator('[data-timing] dl').innerText()).toMatch(
      /Session[\s\S]*Token[\s\S]*Service[\s\S]*Total/,
    );
    await page.locator('[data-response] summary').click();
    expect(await page.getByRole('rowheader', { name: 'via' }).isVisible()).toBe(true);
    expect(await bodyOf(page).innerText()).toMatch(/^\{\n {2}"value": \[\n/);
  });

  test.each([360, 1280] as const)(
    'comes into sight by itself, at %d px, and the focus stays',
    async (width) => {
      await using watched = await at.open({ width });
      const { page } = watched;
      await page.emulateMedia({ reducedMotion: 'reduce' }); // at once
      await send(page);
      const outcome = await outcomeOf(page).boundingBox();
      expect(outcome?.y).toBeGreaterThanOrEqual(0);
      expect(outcome?.y).toBeLessThan(100);
      expect(await isFocused(page.getByRole('button', { name: 'Send', exact: true }))).toBe(true);
    },
  );

  test('leaves who has gone elsewhere in the page meanwhile where they are', async () => {
    await using watched = await at.open();
    const { page } = watched;
    await page.emulateMedia({ reducedMotion: 'reduce' });
    await send(page);
    const { promise: asked, resolve: ask } = createDeferred<() => void>();
    at.e2e.testApp.intercept = ({ url = '' }, res) => {
      const isNext = url.startsWith(LIST) && url.includes('next=');
      if (isNext) ask(() => res.end('{}'));
      return isNext;
    };
    await press(page, 'Follow next');
    const answer = await asked;
    await page.evaluate('scrollTo(0, 0)');
    answer();
    await outcomeOf(page).filter({ hasText: '200 OK' }).waitFor();
    await page.locator('[data-response]:not([aria-busy])').waitFor();
    expect(await page.evaluate('scrollY')).toBe(0);
  });

  test('after a renewal, and after a repetition, says so', async () => {
    await using watched = await at.open();
    const { page } = watched;
    at.e2e.testApp.advance(901_000);
    await send(page);
    expect(await page.locator('[data-sentences]').innerText()).toMatch(
      /had expired, so the gateway refreshed it/,
    );
    at.e2e.testApp.advance(60_000); // a younger token is not refreshed after a 401
    let refusals = 1;
    at.e2e.testApp.intercept = (req, res) => {
      if (req.url?.startsWith(LIST) !== true || refusals === 0) return false;
      refusals -= 1;
      return Boolean(res.writeHead(401).end());
    };
    await send(page);
    expect(await page.locator('[data-sentences]').innerText()).toMatch(
      /refused the access token with 401.*repeated the request once/,
    );
    expect(watched.complaints).toEqual([]);
  });

  test('of the gateway says why, and what to do', async () => {
    await using watched = await at.open();
    const { page } = watched;
    expect(await send(page, '/api/nothing')).toMatch(/^404 Not Found from the gateway/);
    const problem = await page.locator('[data-problem]').innerText();
    expect(problem).toMatch(/path_not_allowed[\s\S]*Use a path that is forwarded[\s\S]*[\da-f-]{36}/);
    expect(await pageFaults(watched)).toEqual([]);
  });

  test('without a session leads to sign-in, and back', async () => {
    await using watched = await at.open();
    const { page, context } = watched;
    await context.clearCookies({ name: 'cloakroom' });
    expect(await send(page)).toMatch(/^401 Unauthorized from the gateway/);
    await page.getByRole('link', { name: 'Sign in and come back' }).click();
    await passService(page);
    await page.waitForURL(`${at.e2e.testApp.origin}/console`);
    expect(await page.locator('[data-history-items] li').count()).toBe(0); // of another session, and so not theirs to see
  });

  test('that breaks off never looks whole', async () => {
    await using watched = await at.open();
    const { page } = watched;
    const { promise: begun, resolve: begin } = createDeferred<() => void>();
    at.e2e.testApp.intercept = (req, res) => {
      if (req.url?.startsWith(API_PATH) !== true) return false;
      res.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
      res.write('{"next":"n"');
      begin(() => res.destroy());
      return true;
    };
    const outcome = send(page, API_PATH);
    await page.getByText('11 bytes so far').waitFor(); // a page that is slower than the failure never sees them
    const breakOff = await begun;
    breakOff();
    expect(await outcome).toMatch(/The connection failed after 11 bytes: the response is incomplete/);
    expect(await page.getByRole('button', { name: 'Follow next' }).count()).toBe(0);
  });

  test('that never comes is told apart by its reason', async () => {
    await using watched = await at.open();
    const { page, context } = watched;
    await context.setOffline(true);
    expect(await send(page)).toMatch(/this device is offline/);
    await context.setOffline(false);
    await context.route(`${at.e2e.testApp.origin}/api/**`, async (route) => route.abort());
    expect(await send(page)).toMatch(/connection to Cloakroom failed/);
  });

  test('that is a redirect leads nowhere', async () => {
    await using watched = await at.open();
    const { page } = watched;
    at.respondWith(302, { location: '/led-astray' });
    expect(await send(page, API_PATH)).toMatch(/responded with a redirect/);
    const asked = (path: string) =>
      at.e2e.testApp.logged.filter((line) => line.includes(`"path":"${path}"`)).length;
    await eventually(async () => asked(API_PATH) > 0); // its line is written once all is sent
    expect(asked('/led-astray')).toBe(0);
  });

  test('that came compressed has both its sizes', async () => {
    await using watched = await at.open();
    const { page } = watched;
    const packed = gzipSync('x'.repeat(5_000));
    at.respondWith(200, { 'content-type': 'text/plain', 'content-encoding': 'gzip' }, packed);
    await send(page, API_PATH);
    const sizes = page.locator('[data-size]').filter({ hasText: 'transferred' });
    expect(await sizes.innerText()).toBe(`5,000 bytes, ${packed.length} transferred (gzip)`);
  });

  test('that is binary can be saved, byte for byte', async () => {
    await using watched = await at.open();
    const { page } = watched;
    const bytes = Buffer.from([0x89, 0x50, 0, 0xff, 1]);
    at.respondWith(200, { 'content-type': 'image/png' }, bytes);
    await send(page, `${API_PATH}/a.png`);
    expect(await page.getByText('The body is binary').isVisible()).toBe(true);
    expect(await bodyOf(page).isVisible()).toBe(false);
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('link', { name: 'Save the body as a.png' }).click(),
    ]);
    expect(download.suggestedFilename()).toBe('a.png');
    expect(await readFile(await download.path())).toEqual(bytes);
    expect(watched.complaints).toEqual([]);
  });

  test('is saved under the last name of its path, JSON as such', async () => {
    await using watched = await at.open();
    const { page } = watched;
    for (const [end, type, name] of [
      ['things', 'application/json', 'things.json'],
      ['things', 'text/plain', 'things'],
      ['things/a.geojson', 'application/json', 'a.geojson'],
    ] as const) {
      at.respondWith(200, { 'content-type': type }, '{"a":1}');
      await send(page, API_PATH.replace('things', end));
      const link = page.getByRole('link', { name: `Save the body as ${name}`, exact: true });
      expect(await link.getAttribute('download')).toBe(name);
    }
  });

  test('that cannot be shown is said to be, and the next one is shown', async () => {
    await using watched = await at.open();
    const { page } = watched;
    await page.evaluate(
      "CSS.highlights.set = () => { delete CSS.highlights.set; throw new Error('no colours'); }",
    );
    expect(await send(page)).toMatch(/^This page could not show the response/);
    expect(await page.locator('[data-response]').isVisible()).toBe(false);
    expect(await page.getByRole('button', { name: 'Cancel' }).isVisible()).toBe(false);
    expect(await send(page)).toMatch(/^200 OK/);
    expect(watched.complaints).toEqual(['no colours']);
  });

  test('is copied with a word beside the button, until the next one comes', async () => {
    await using watched = await at.open();
    const { page, context } = watched;
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    await send(page);
    await press(page, 'Copy the body');
    const said = page.locator('[data-response]').getByText('The body is copied.');
    await said.waitFor();
    expect(await page.evaluate('navigator.clipboard.readText()')).toMatch(/^\{"value":\[/);
    await press(page, 'Follow next');
    await said.waitFor({ state: 'detached' });
  });

  test('that is too much to copy is said to be', async () => {
    await using watched = await at.open();
    const { page } = watched;
    await send(page);
    await page.evaluate("Blob.prototype.text = () => Promise.reject(new Error('no memory'))");
    await page.getByRole('button', { name: 'Copy the body' }).click();
    await page.getByText('The body could not be read to copy it. Save it instead.').waitFor();
    expect(watched.complaints).toEqual([]);
  });
});

/** Has the console take 1 MiB of an answer in place of its 64. */
async function giveUpSooner(context: BrowserContext): Promise<void> {
  await context.route('**/console/send-request.js', async (route) => {
    const response = await route.fetch();
    const script = await response.text();
    await route.fulfill({ response, body: script.replace('64 * 1024 * 1024', '1024 * 1024') });
  });
}

describe('a hostile answer', () => {
  const MARKUP = `<img src=x onerror=alert(1)></pre><script>alert(1)</script>`;
  const DEEP = '['.repeat(10_000) + ']'.repeat(10_000);
  test.each([
    ['markup', 'application/json', JSON.stringify({ [MARKUP]: MARKUP })],
    ['text turned around', 'text/plain', `\u202e${'abc '.repeat(50)}\u2067\n`],
    ['one word of ten thousand letters', 'application/json', JSON.stringify('x'.repeat(10_000))],
    ['ten thousand levels', 'application/json', DEEP],
    ['no UTF-8', 'application/json', Buffer.from([0x22, 0xff, 0xfe, 0x22])],
    ['marks upon marks', 'text/plain', `a${'\u0301'.repeat(5_000)}`],
  ])('is shown safely: %s', async (_what, type, text) => {
    await using watched = await at.open({ width: 360 });
    const { page } = watched;
    at.respondWith(200, { 'content-type': type, 'x-long': 'y'.repeat(3_000), 'x-markup': MARKUP }, text);
    expect(await send(page, API_PATH)).toMatch(/^200 OK/);
    await page.locator('[data-response] summary').click();
    expect(await page.locator('[data-response] img, [data-response] script').count()).toBe(0);
    expect(await pageFaults(watched)).toEqual([]);
    expect(watched.complaints).toEqual([]);
  });

  test('of 2 MB is counted, and its beginning shown', async () => {
    await using watched = await at.open();
    const { page } = watched;
    at.respondWith(
      200,
      { 'content-type': 'application/json' },
      `[${'"0123456789abcdef",'.repeat(130_000)}1]`,
    );
    expect(await send(page, API_PATH)).toMatch(/2,470,003 bytes/);
    expect((await bodyOf(page).textContent())?.length).toBeLessThan(220_000);
    expect(await page.getByText('Only the beginning is shown').isVisible()).toBe(true);
  });

  test('without an end is given up', async () => {
    await using watched = await at.e2e.openSignedIn('/console', {}, giveUpSooner);
    const { page } = watched;
    const chunk = Buffer.alloc(1_000_000, 'x');
    at.e2e.testApp.intercept = (req, res) => {
      if (req.url?.startsWith(API_PATH) !== true) return false;
      res.writeHead(200, { 'content-type': 'text/plain' });
      const more = () => {
        while (!res.destroyed && res.write(chunk));
      };
      res.on('drain', more);
      more();
      return true;
    };
    expect(await send(page, API_PATH)).toMatch(
      /The console stopped reading: it shows at most 1,048,576 bytes/,
    );
  });
});

test('Nothing that the console receives, shows or keeps holds a token', async () => {
  await using watched = await at.e2e.open();
  const { page, context } = watched;
  const tokens = { accessToken: 'sentinel-access', refreshToken: 'sentinel-refresh' };
  const { cookie } = await at.e2e.testApp.createSession(tokens);
  const [name = '', value = ''] = cookie.split('=');
  await context.addCookies([{ name, value, url: at.e2e.testApp.origin, httpOnly: true }]);
  const received: string[] = [];
  page.on('response', (answer) => {
    received.push(JSON.stringify(answer.headers()));
    void answer.text().then(
      (text) => received.push(text),
      () => {},
    );
  });
  at.respondWith(200, { 'content-type': 'application/json', 'set-cookie': 'sentinel=1' }, '{"a":1}');
  await page.goto(`${at.e2e.testApp.origin}/console`);
  await send(page, API_PATH);
  expect(at.e2e.testApp.serviceRequests.at(-1)?.headers.authorization).toBe('Bearer sentinel-access');
  await press(page, 'Copy as curl');
  const kept = await page.evaluate(
    'document.documentElement.outerHTML + document.cookie + JSON.stringify([{ ...sessionStorage }, { ...localStorage }])',
  );
  expect(received.length).toBeGreaterThan(5);
  expect([kept, ...received].join('\n')).not.toContain('sentinel');
});
