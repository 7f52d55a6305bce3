import { text } from 'node:stream/consumers';
import { afterEach, expect, test } from '@jest/globals';
import { API_PATH } from '../support/constants.ts';
import { startTestApp, tokenRequests } from '../support/test-app.ts';
import { openConnection } from '../support/raw-client.ts';
import { useTestApp } from '../support/fixtures.ts';
import { requestText, send, statusesOf, statusesTo } from './request-text.ts';

const KEYS = [7, 8].map((byte) => Buffer.alloc(32, byte).toString('base64url'));

const testApp = useTestApp();
afterEach(() => {
  testApp.intercept = () => false;
  testApp.serviceRequests.length = 0;
});

/** Makes the service echo each request's access token. The token endpoint derives each access token from the refresh token. */
function echoTokens(refuses: (token: string) => boolean = () => false): void {
  testApp.intercept = (req, res) => {
    if (req.url?.endsWith('/oauth2/token') === true)
      void text(req).then((form) => {
        const name = new URLSearchParams(form).get('refresh_token');
        return res.end(JSON.stringify({ access_token: `new-${name}`, expires_in: 900 }));
      });
    else {
      const token = req.headers.authorization ?? '';
      res.writeHead(refuses(token) ? 401 : 200).end(token);
    }
    return true;
  };
}

const USERS = Array.from({ length: 20 }, (_, at) => `user-${at}`);
const OWN_TOKENS = USERS.map((name) => `Bearer new-${name}`);

/** Sends one request per user, all at the same time. Resolves with the response bodies. */
async function requestAtOnce(grant: { readonly expiresAt?: number }): Promise<string[]> {
  const requests = USERS.map(async (name) => {
    const tokens = { accessToken: `old-${name}`, refreshToken: name };
    const { cookie } = await testApp.createSession({ ...tokens, ...grant });
    return (await fetch(testApp.origin + API_PATH, { headers: { cookie } })).text();
  });
  return Promise.all(requests);
}

test('GHSA-4j63-5v5f-xcc4 Duende.BFF: cross-site requests carry the user’s token', async () => {
  const { cookie } = await testApp.createSession();
  for (const hostile of [
    'Sec-Fetch-Site: cross-site',
    'Sec-Fetch-Site: same-site',
    'Origin: https://hostile.test',
    'Origin: null',
  ]) {
    const fields = ['Content-Length: 0', hostile];
    expect(await statusesTo(testApp, { method: 'POST', cookie, fields })).toEqual([403]);
  }
  const plain = { method: 'DELETE', headers: { cookie } };
  expect((await fetch(testApp.origin + API_PATH, plain)).status).toBe(403);
  expect(testApp.serviceRequests).toEqual([]);
});

test('GHSA-vvg7-p7jw-8qr3 Duende.BFF: session cookies are forwarded', async () => {
  testApp.intercept = (_req, res) => Boolean(res.end('{}'));
  const { cookie } = await testApp.createSession();
  const fields = ['Cookie2: $Version=1', 'COOKIE: other=1'];
  expect(await statusesTo(testApp, { cookie, fields })).toEqual([200]);
  expect(JSON.stringify(testApp.serviceRequests)).not.toContain(cookie.split('=')[1]);
  expect(testApp.serviceRequests[0]?.headers.cookie).toBeUndefined();
});

test('CVE-2026-34454 oauth2-proxy: sign-out keeps the cookie', async () => {
  const { cookie } = await testApp.createSession();
  const done = await fetch(`${testApp.origin}/auth/logout`, {
    method: 'POST',
    redirect: 'manual',
    headers: { cookie, 'x-requested-with': 'x' },
  });
  expect(done.headers.getSetCookie()).toContain(testApp.services.cookie.clear());
  const status = await fetch(`${testApp.origin}/auth/session`, { headers: { cookie } });
  expect(await status.json()).toEqual({ signedIn: false });
});

test('CVE-2025-48947 nextjs-auth0: a cacheable page sets the session cookie', async () => {
  await using rotated = await startTestApp({ SESSION_KEYS: KEYS.join() });
  await using before = await startTestApp({ SESSION_KEYS: KEYS[1] });
  rotated.intercept = (_req, res) => Boolean(res.setHeader('cache-control', 's-maxage=31536000').end('{}'));
  const { id } = await rotated.createSession();
  const cookie = before.services.cookie.write(id).split(';', 1)[0] ?? '';
  const headers = { cookie, 'sec-fetch-site': 'same-origin' };
  for (const [method, path] of [
    ['GET', '/workspaces'],
    ['GET', API_PATH],
    ['POST', '/auth/session'],
  ] as const) {
    const response = await fetch(rotated.origin + path, { method, headers });
    expect(response.headers.getSetCookie()).toEqual([rotated.services.cookie.write(id)]);
    expect(response.headers.get('cache-control')).toMatch(/^(?:private, )?no-store$/);
    await response.arrayBuffer();
  }
});

test('CVE-2025-67490 nextjs-auth0: concurrent users share a token', async () => {
  echoTokens();
  expect(await requestAtOnce({ expiresAt: 0 })).toEqual(OWN_TOKENS);
  expect(tokenRequests(testApp)).toHaveLength(20);
});

test('CVE-2026-40155 nextjs-auth0: a retry uses another user’s token', async () => {
  echoTokens((token) => token.startsWith('Bearer old-'));
  expect(await requestAtOnce({})).toEqual(OWN_TOKENS);
  expect(tokenRequests(testApp)).toHaveLength(20);
});

test('CVE-2024-24814 mod_auth_openidc: a forged cookie sets the chunk count', async () => {
  const { name } = testApp.services.cookie;
  const cookies = [`${name}_chunks=99999999`, `${name}=99999999`, `${name}.0=x`, `${name}=s:`].join('; ');
  expect(await send(testApp, { cookie: cookies })).toMatch(/^HTTP\/1\.1 401 [^]*"sign_in_required"/);
});

test('CVE-2025-31492 mod_auth_openidc: the sign-in redirect carries protected content', async () => {
  testApp.intercept = (_req, res) => Boolean(res.end('protected'));
  const requests: [method: string, target: string][] = [
    ['GET', '/workspaces'],
    ['POST', '/workspaces'],
    ['GET', '/workspaces.csv'],
    ['GET', '/console'],
    ['POST', API_PATH],
  ];
  for (const [method, target] of requests) {
    const fields = ['Content-Length: 0', 'Sec-Fetch-Site: same-origin'];
    const response = await send(testApp, { method, target, fields });
    expect(statusesOf(response)).toHaveLength(1);
    expect(response).not.toContain('protected');
  }
  expect(testApp.serviceRequests).toEqual([]);
});

test('CVE-2025-3891 mod_auth_openidc: an empty POST crashes the process', async () => {
  const pages = ['/', '/auth/login', '/auth/callback', '/auth/logout', '/workspaces', '/console'];
  for (const target of [...pages, API_PATH]) {
    for (const fields of [['Content-Length: 0'], [], ['Content-Type: application/x-www-form-urlencoded']]) {
      const [status = 0] = await statusesTo(testApp, { method: 'POST', target, fields });
      expect([target, status >= 200 && status < 500]).toEqual([target, true]);
    }
  }
  expect((await fetch(`${testApp.origin}/healthz`)).status).toBe(200);
});

test('CVE-2026-16117 @fastify/http-proxy: an encoded prefix is routed and forwarded differently', async () => {
  testApp.intercept = (_req, res) => Boolean(res.end('reached'));
  const { cookie } = await testApp.createSession();
  for (const target of [
    '/%61pi/public/v1/things',
    '/api/%70rivate/v1/things',
    '/api/public/v1/%61uthorization/oauth2/token',
    '/api/public/v1/authorization/%6fauth2/token',
  ]) {
    expect([target, await statusesTo(testApp, { target, cookie })]).toEqual([target, [404]]);
  }
  expect(testApp.serviceRequests).toEqual([]);
});

test('fastify-reply-from#481 @fastify/reply-from: a body after an early response becomes a request', async () => {
  testApp.intercept = (_req, res) => Boolean(res.end('early'));
  const { cookie } = await testApp.createSession();
  const client = await openConnection(testApp.config.port);
  const fields = ['Connection: keep-alive', 'Content-Length: 1000000'];
  client.socket.write(requestText({ method: 'POST', cookie, fields, rest: 'x'.repeat(70_000) }));
  await client.until('early');
  client.socket.end(requestText({ target: '/api/public/v1/hidden', cookie }));
  await client.closed;
  expect(statusesOf(client.text())).toEqual([200]);
  expect(client.text()).toMatch(/\r\nconnection: close\r\n/i);
  expect(testApp.serviceRequests.map(({ url }) => url)).toEqual([API_PATH]);
});
