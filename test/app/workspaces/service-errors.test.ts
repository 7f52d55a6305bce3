import { EventEmitter, once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import request from 'supertest';
import type { TokenProvider } from '../../../src/oauth/refresh/token-provider.ts';
import { freePort } from '../../support/fleet/free-port.ts';
import { json, response } from '../../support/raw-service.ts';
import { useEmptyRedis, type BrowserAppOptions } from './browser-app.ts';
import { workspaces, type Interception } from './small-service.ts';

const start = useEmptyRedis();

/** Noon plus 0.7 s, so that a pause rounded to the nearest second would end too early. */
const NOON = Date.UTC(2024, 0, 1, 12, 0, 0, 700);

/** Requests `/workspaces` with `intercept` in place of the service. Resolves with the page, the upstream requests and the failures. */
async function responseWith(intercept: Interception, options: BrowserAppOptions = {}) {
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => failures.push(error);
  await using app = await start(workspaces(137), intercept, { onFailure, ...options });
  const page = await request(app.server).get('/workspaces');
  return { page, requests: app.service.requests, failures };
}

function always(status: number, ...fields: string[]): Interception {
  return () => response(status, '{"message":"from the service"}', ...fields);
}

function body(text: string | Buffer): Interception {
  return () => response(200, text, 'Content-Type: application/json');
}

/** Returns the message of a failure's cause, which appears only in the log. */
function causeOf(failure: unknown): unknown {
  return failure instanceof Error && failure.cause instanceof Error ? failure.cause.message : undefined;
}

/** Creates a token provider that returns `first`, then `second` after a 401, and records the refused tokens. */
function scriptedTokens() {
  const refused: string[] = [];
  const tokens: Pick<TokenProvider, 'accessToken' | 'tokenAfterUnauthorized'> = {
    accessToken: async () => 'first',
    async tokenAfterUnauthorized(_session, token) {
      refused.push(token);
      return 'second';
    },
  };
  return { tokens, refused };
}

test('an upstream request has Accept, the token and the request id', async () => {
  const { page, requests } = await responseWith(() => false, { tokens: scriptedTokens().tokens });
  expect(requests[0]?.target).toBe('/api/public/v1/workspaces?limit=25');
  expect(requests[0]?.headers).toMatchObject({
    accept: 'application/json',
    authorization: 'Bearer first',
    'x-request-id': page.headers['x-request-id'],
  });
});

test('a refused token is refreshed once, and the request is repeated', async () => {
  const { tokens, refused } = scriptedTokens();
  const { page, requests } = await responseWith(
    ({ headers }) => headers['authorization'] !== 'Bearer second' && json(401, { code: 'TOKEN_EXPIRED' }),
    { tokens },
  );
  expect(page.status).toBe(200);
  expect(refused).toEqual(['first']);
  expect(requests).toHaveLength(2);
});

test('a second 401 results in an error page that keeps the session', async () => {
  const { tokens, refused } = scriptedTokens();
  const { page, requests } = await responseWith(always(401), { tokens });
  expect(page.status).toBe(502);
  expect(page.text).toContain('The service no longer accepts your sign-in');
  expect(page.text).toContain('href="/auth/login?return_to=%2Fworkspaces">Sign in again</a>');
  expect(page.headers['set-cookie']).toBeUndefined();
  expect(refused).toEqual(['first']);
  expect(requests).toHaveLength(2);
});

test('a page waits at most a second for a token that only the workspace details need', async () => {
  const tokens = {
    ...scriptedTokens().tokens,
    tokenAfterUnauthorized: async () => new Promise<never>(() => {}), // the token endpoint never responds
  };
  const refuseWorkspace: Interception = ({ limit }) => limit === null && json(401, {});
  await using app = await start([{ name: 'A room' }], refuseWorkspace, { tokens });
  const page = await app.get('/workspaces/w1', 200);
  expect(page.text).toContain('>A room<');
  expect(page.text).toContain('>w1</h1>');
});

test.each([
  ['Retry-After in seconds', ['Retry-After: 7'], '7', '7 seconds'],
  ['Retry-After as a date', [`Retry-After: ${new Date(NOON + 30_000).toUTCString()}`], '30', '30 seconds'],
  ['a date in the past', [`Retry-After: ${new Date(NOON - 30_000).toUTCString()}`], '1', 'a second'],
  ['x-ratelimit-reset', [`X-RateLimit-Reset: ${Math.floor(NOON / 1_000) + 240}`], '240', '4 minutes'],
  ['neither header', [], '1', 'a second'],
  ['invalid headers', ['Retry-After: soon', 'X-RateLimit-Reset: 1e400'], '1', 'a second'],
  ['a Retry-After of a year', ['Retry-After: 31536000'], '3600', '60 minutes'],
])('the page for a rate limit with %s shows how long to wait', async (_name, fields, seconds, words) => {
  const { page } = await responseWith(always(429, ...fields), { now: () => NOON });
  expect(page.status).toBe(503);
  expect(page.headers['retry-after']).toBe(seconds);
  expect(page.text).toMatch(new RegExp(`You can try again in <time [^>]*>${words}</time>`));
});

test('an unexpected status results in a 502 page, and only the log contains the status', async () => {
  const { page, failures } = await responseWith(always(500));
  expect(page.status).toBe(502);
  expect(page.text).toContain('You are still signed in. Try again in a few minutes.');
  expect(page.text).not.toMatch(/from the service|\b500\b/);
  expect(causeOf(failures[0])).toBe('the service responded with 500 Internal Server Error');
});

test.each([
  ['invalid JSON', '<html>'],
  ['truncated JSON', '{"value":['],
  ['an array', '[]'],
  ['null', 'null'],
  ['no value', '{"items":[]}'],
  ['a value that is not an array', '{"value":{"0":"a"}}'],
  ['too many items for a page', JSON.stringify({ value: Array.from({ length: 10_001 }, () => 0) })],
  ['a next that is a number', '{"value":[],"next":2}'],
  ['an empty next', '{"value":[],"next":""}'],
  ['a next that is too long for a URL', JSON.stringify({ value: [], next: 'x'.repeat(8_193) })],
  ['a next with a lone surrogate', '{"value":[],"next":"\\ud800"}'],
  ['invalid UTF-8', Buffer.from([0xff, 0xfe, 0x00])],
])('a response with %s results in a 502 page', async (_name, text) => {
  const { page, failures } = await responseWith(body(text));
  expect(page.status).toBe(502);
  expect(page.text).toContain('The service sent an unexpected response');
  expect(causeOf(failures[0])).toMatch(/^the response is not (JSON|a page of a list: [\w ]+)$/);
});

test('a response over 10 MiB results in a 502 page', async () => {
  const { page, failures } = await responseWith(
    body(JSON.stringify({ value: ['x'.repeat(10 * 1024 * 1024)] })),
  );
  expect(page.status).toBe(502);
  expect(causeOf(failures[0])).toBe('the response is too large');
});

const BEGUN = 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{"value":[';

test.each([
  ['a 403', 403, 'You don’t have access to this list', always(403)],
  [
    'a 403 whose body never ends',
    403,
    'You don’t have access to this list',
    () => 'HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\n{',
  ],
  ['a redirect', 502, 'Your workspaces can’t be loaded', always(302, 'Location: /elsewhere')],
  [
    'a response that is cut off',
    502,
    'The service can’t be reached',
    (_request, socket) => {
      socket.end(BEGUN);
      return null;
    },
  ],
] satisfies [string, number, string, Interception][])(
  '%s results in a %d page after one upstream request',
  async (_what, status, words, intercept) => {
    const { page, requests } = await responseWith(intercept, { timeoutSeconds: 1 });
    expect(page.status).toBe(status);
    expect(page.text).toContain(words);
    expect(requests).toHaveLength(1);
  },
);

test.each([
  ['a service that does not respond', () => null],
  ['a response that stalls', () => BEGUN],
  [
    'a response that arrives byte by byte',
    (_request, socket) => {
      const drip = setInterval(() => socket.write(' '), 10);
      socket.once('close', () => clearInterval(drip));
      return BEGUN;
    },
  ],
] satisfies [string, Interception][])(
  '%s results in a 504 page after the timeout',
  async (_what, intercept) => {
    const { page } = await responseWith(intercept, { timeoutSeconds: 0.1 });
    expect(page.status).toBe(504);
    expect(page.text).toContain('The service is taking too long');
  },
);

test('a service that refuses connections results in a 502 page', async () => {
  await using app = await start([], undefined, { serviceOrigin: `http://127.0.0.1:${await freePort()}` });
  const page = await app.get('/workspaces?page=2', 502);
  expect(page.text).toContain('The service can’t be reached');
  expect(page.text).toContain('You are still signed in.');
  expect(page.text).toContain('href="/workspaces?page=2">Try again</a>');
});

test('a client that disconnects aborts the upstream request without causing a failure', async () => {
  const client = new AbortController();
  const sockets = new EventEmitter();
  const closed = once(sockets, 'close');
  const failures: unknown[] = [];
  await using app = await start(
    [],
    (_request, socket) => {
      socket.once('close', () => sockets.emit('close'));
      client.abort();
      return null;
    },
    { timeoutSeconds: 3_600, onFailure: (error) => failures.push(error) },
  );
  const { port } = app.server.address() as AddressInfo;
  await expect(fetch(`http://127.0.0.1:${port}/workspaces`, { signal: client.signal })).rejects.toThrow(
    'abort',
  );
  await closed;
  expect(failures).toEqual([]);
});
