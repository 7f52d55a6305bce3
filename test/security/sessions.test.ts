import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from '@jest/globals';
import { Browser } from '../support/browser.ts';
import { API_PATH } from '../support/constants.ts';
import { submitSignIn, tokenRequests } from '../support/test-app.ts';
import { useTestApp } from '../support/fixtures.ts';
import { statusesTo } from './request-text.ts';

const testApp = useTestApp();
afterEach(() => {
  testApp.intercept = () => false;
  testApp.serviceRequests.length = 0;
});

/** Signs in at the service. Returns the callback URL without opening it. */
async function callbackUrl(browser: Browser): Promise<URL> {
  const consent = await submitSignIn(browser, await browser.open(`${testApp.origin}/auth/login`));
  return new URL((await browser.press(consent, 'Allow')).headers.get('location') ?? '');
}

async function isSignedIn(cookie: string): Promise<boolean> {
  const page = await new Browser().fetch(`${testApp.origin}/auth/session`, { headers: { cookie } });
  return (JSON.parse(page.text) as { signedIn: boolean }).signedIn;
}

test('CVE-2021-41246 express-openid-connect: sign-in keeps the session id', async () => {
  const browser = new Browser();
  const { cookie: planted } = await testApp.createSession();
  await browser.jar.setCookie(planted, testApp.origin);
  await browser.fetch(await callbackUrl(browser));
  expect(await browser.jar.getCookieString(testApp.origin)).not.toContain(planted);
});

test('CVE-2022-25896 passport: sign-in does not end the old session', async () => {
  const browser = new Browser();
  const { cookie: before } = await testApp.createSession();
  await browser.jar.setCookie(before, testApp.origin);
  expect(await isSignedIn(before)).toBe(true);
  await browser.fetch(await callbackUrl(browser));
  expect(await isSignedIn(before)).toBe(false);
});

test('CVE-2023-29019 @fastify/passport: session fixation through a planted cookie', async () => {
  const { id } = await testApp.createSession();
  await testApp.services.store.end(id);
  const tossed = testApp.services.cookie.write(id).split(';', 1)[0] ?? '';
  const browser = new Browser();
  await browser.jar.setCookie(tossed, testApp.origin);
  const done = await browser.fetch(await callbackUrl(browser));
  expect(done.status).toBe(303);
  expect(await isSignedIn(tossed)).toBe(false);
});

test('nextjs-auth0#2100 nextjs-auth0: session cookie responses are cacheable', async () => {
  const browser = new Browser();
  const done = await browser.fetch(await callbackUrl(browser));
  expect(done.headers.getSetCookie().join()).toContain('cloakroom=s%3A');
  expect(done.headers.get('cache-control')).toBe('no-store');
});

test('CVE-2023-28625 mod_auth_openidc: a malformed Cookie crashes the process', async () => {
  const separators = [';', '=;=', '; ;cloakroom', ',,;='];
  for (const cookie of [...separators, 'cloakroom=;', 'cloakroom=s%3A', 'cloakroom=s%3A.%'])
    expect(await statusesTo(testApp, { cookie })).toEqual([401]);
  expect(await statusesTo(testApp, { target: '/healthz' })).toEqual([200]);
});

test('CVE-2026-21710 Node.js: a header named __proto__ crashes the process', async () => {
  testApp.intercept = (_req, res) => Boolean(res.end('{}'));
  const { cookie } = await testApp.createSession();
  const fields = ['__proto__: 1', 'constructor: 1'];
  for (const target of [API_PATH, '/auth/session'])
    expect(await statusesTo(testApp, { target, cookie: `__proto__=1; ${cookie}`, fields })).toEqual([200]);
});

/** Responds in place of the token endpoint, with an access token derived from the refresh token. */
async function refresh(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const refreshToken = new URLSearchParams(await text(req)).get('refresh_token');
  res.setHeader('content-type', 'application/json');
  res.end(JSON.stringify({ access_token: refreshToken?.replace('refresh', 'new') }));
}

test('CVE-2024-51987 Duende.AccessTokenManagement: a refresh mixes up users’ tokens', async () => {
  testApp.intercept = (req, res) => {
    if (!req.url?.endsWith('/token')) return Boolean(res.end(req.headers.authorization));
    void refresh(req, res);
    return true;
  };
  const users = await Promise.all(
    Array.from({ length: 8 }, async (_, user) =>
      testApp.createSession({ refreshToken: `refresh-of-${user}`, expiresAt: 0 }),
    ),
  );
  const tokens = await Promise.all(
    [...users, ...users].map(async ({ cookie }) =>
      (await fetch(testApp.origin + API_PATH, { headers: { cookie } })).text(),
    ),
  );
  const own = users.map((_, user) => `Bearer new-of-${user}`);
  expect(tokens).toEqual([...own, ...own]);
});

test('CVE-2026-50631 Apache CXF: concurrent requests reuse a refresh token', async () => {
  const { browser } = await testApp.signIn();
  testApp.serviceRequests.length = 0;
  testApp.advanceClock(900_000); // expires the token but not the session
  const url = `${testApp.origin}/api/public/v1/workspaces?limit=1`;
  const pages = await Promise.all(Array.from({ length: 10 }, async () => browser.fetch(url)));
  expect(new Set(pages.map(({ status }) => status))).toEqual(new Set([200]));
  expect(tokenRequests(testApp)).toHaveLength(1);
});

test('CVE-2026-22751 Spring Security: concurrent requests reuse a one-time token', async () => {
  const browser = new Browser();
  const url = await callbackUrl(browser);
  const headers = { cookie: await browser.jar.getCookieString(url.href) };
  testApp.serviceRequests.length = 0;
  const pages = await Promise.all([1, 2, 3].map(async () => new Browser().fetch(url, { headers })));
  expect(pages.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([303, 400, 400]);
  expect(tokenRequests(testApp)).toHaveLength(1);
});

test('CVE-2017-1000069 bitly/oauth2_proxy: one browser completes another’s sign-in', async () => {
  const url = await callbackUrl(new Browser());
  const victim = new Browser();
  await victim.open(`${testApp.origin}/auth/login`); // the victim's own sign-in
  const page = await victim.fetch(url);
  expect(page.status).toBe(400);
  expect(await victim.cookie(testApp.origin, 'cloakroom')).toBeUndefined();
  expect(tokenRequests(testApp)).toEqual([]);
});

test('CVE-2023-27490 next-auth: a code without its state is accepted', async () => {
  const browser = new Browser();
  const url = await callbackUrl(browser);
  for (const state of [null, '', 'x'.repeat(43)]) {
    const tampered = new URL(url);
    tampered.searchParams.delete('state');
    if (state !== null) tampered.searchParams.set('state', state);
    expect((await browser.fetch(tampered)).status).toBe(400);
  }
  expect(await browser.cookie(testApp.origin, 'cloakroom')).toBeUndefined();
  expect(tokenRequests(testApp)).toEqual([]);
});

/** Starts a sign-in and opens its callback with these parameters. Returns the page. */
async function callbackPage(parameters: Record<string, string>) {
  const browser = new Browser();
  const begun = await browser.fetch(`${testApp.origin}/auth/login`);
  const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? '';
  const query = new URLSearchParams({ state, ...parameters }).toString();
  return browser.fetch(`${testApp.origin}/auth/callback?${query}`);
}

test('CVE-2021-32702 nextjs-auth0: XSS in the error page', async () => {
  const page = await callbackPage({ error: '<script>alert(1)</script>' });
  expect(page.status).toBe(502);
  expect(page.text).not.toContain('alert(1)');
});

test('CVE-2017-6059 mod_auth_openidc: content spoofing in the error page', async () => {
  const words = 'Call 555 0100 and tell them your password';
  const error = { error: words, error_description: words, error_uri: 'http://hostile.test/' };
  const page = await callbackPage(error);
  expect(page.status).toBe(502);
  expect(page.text).not.toMatch(/555 0100|hostile/);
});
