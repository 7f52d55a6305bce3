import { EventEmitter, once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import request from 'supertest';
import type { TokenProvider } from '../../../src/oauth/refresh/token-provider.ts';
import { AppError } from '../../../src/errors.ts';
import { SessionEndedError } from '../../../src/errors.ts';
import { json, response } from '../../support/raw-service.ts';
import { withEmptyRedis } from './browser-app.ts';
import type { BrowserAppOptions } from './browser-app.ts';
import { startSmallService, workspaces } from './small-service.ts';
import type { Interception } from './small-service.ts';

const start = withEmptyRedis();

/** Headers name whole seconds. From here, rounding a pause to the nearest second would end it too early. */
const NOON = Date.UTC(2024, 0, 1, 12, 0, 0, 700);

/** What the browser answers to `GET /workspaces` over a service that answers in this way. */
async function answerOver(intercept: Interception, options: Partial<BrowserAppOptions> = {}) {
  await using service = await startSmallService(workspaces(137), intercept);
  const failures: unknown[] = [];
  const onFailure = (error: unknown) => failures.push(error);
  await using app = await start(service, { onFailure, ...options });
  const page = await request(app.server).get('/workspaces');
  return { page, calls: service.calls, failures };
}

function always(status: number, ...fields: string[]): Interception {
  return () => response(status, '{"message":"from the service"}', ...fields);
}

function body(text: string | Buffer): Interception {
  return () => response(200, text, 'Content-Type: application/json');
}

/** What the log hears of a failure and the page does not say. */
function causeOf(failure: unknown): unknown {
  return failure instanceof Error && failure.cause instanceof Error ? failure.cause.message : undefined;
}

/** A keeper that gives `first`, and `second` in exchange for it. */
function scriptedTokens() {
  const asked: (string | undefined)[] = [];
  const tokens: Pick<TokenProvider, 'accessToken' | 'tokenAfterUnauthorized'> = {
    async accessToken() {
      asked.push(undefined);
      return 'first';
    },
    async tokenAfterUnauthorized(_ticket, refused) {
      asked.push(refused);
      return 'second';
    },
  };
  return { tokens, asked };
}

test('A call says what it takes, who asks, and under which request id', async () => {
  const { page, calls } = await answerOver(() => false, { tokens: scriptedTokens().tokens });
  expect(calls[0]?.target).toBe('/api/public/v1/workspaces?limit=25');
  expect(calls[0]?.headers).toMatchObject({
    accept: 'application/json',
    authorization: 'Bearer first',
    'x-request-id': page.headers['x-request-id'],
  });
});

test('A token that the service refuses is renewed once, and the call repeated', async () => {
  const { tokens, asked } = scriptedTokens();
  const { page, calls } = await answerOver(
    ({ headers }) => headers['authorization'] !== 'Bearer second' && json(401, { code: 'TOKEN_EXPIRED' }),
    { tokens },
  );
  expect(page.status).toBe(200);
  expect(asked).toEqual([undefined, 'first']);
  expect(calls).toHaveLength(2);
});

test('A second 401 is a page about the service, never a sign-out or a redirect', async () => {
  const { tokens, asked } = scriptedTokens();
  const { page, calls } = await answerOver(always(401), { tokens });
  expect(page.status).toBe(502);
  expect(page.text).toContain('The service no longer accepts your sign-in');
  expect(page.text).toContain('href="/auth/login?return_to=%2Fworkspaces">Sign in again</a>');
  expect(page.headers['set-cookie']).toBeUndefined();
  expect(asked).toEqual([undefined, 'first']);
  expect(calls).toHaveLength(2);
});

test('A walk renews once: a service that refuses token after token is not followed', async () => {
  const { tokens, asked } = scriptedTokens();
  await using service = await startSmallService(workspaces(137), ({ next, headers }) => {
    const isTaken = next === null && headers['authorization'] === 'Bearer second';
    return !isTaken && json(401, {});
  });
  await using app = await start(service, { tokens });
  await request(app.server).get('/workspaces?page=2').expect(502);
  expect(asked).toEqual([undefined, 'first']);
});

test('A session that has ended leads to sign-in and back to this very page', async () => {
  const tokens = { ...scriptedTokens().tokens, accessToken: () => Promise.reject(new SessionEndedError()) };
  await using service = await startSmallService(workspaces(137));
  await using app = await start(service, { tokens });
  await request(app.server)
    .get('/workspaces?limit=10&page=2')
    .expect(303)
    .expect('location', '/auth/login?return_to=%2Fworkspaces%3Flimit%3D10%26page%3D2');
  expect(service.calls).toHaveLength(0);
});

test('A token that can’t be refreshed now is a 503 page', async () => {
  const failure = new AppError('token_endpoint_unavailable', { retryAfterSeconds: 5 });
  const { page } = await answerOver(() => false, {
    tokens: { ...scriptedTokens().tokens, accessToken: () => Promise.reject(failure) },
  });
  expect(page.status).toBe(503);
  expect(page.headers['retry-after']).toBe('5');
  expect(page.text).toContain('The service can’t refresh your access right now');
});

test('A missing permission is a 403 page', async () => {
  const { page } = await answerOver(always(403));
  expect(page.status).toBe(403);
  expect(page.text).toContain('Cloakroom has no access to this list');
  expect(page.text).toContain('href="/auth/login?return_to=%2Fworkspaces">Sign in again</a>');
});

test('A list that the service does not have is a 404 page', async () => {
  const { page } = await answerOver(always(404));
  expect(page.status).toBe(404);
});

test.each([
  ['Retry-After in seconds', ['Retry-After: 7'], '7', '7 seconds'],
  ['Retry-After as a date', [`Retry-After: ${new Date(NOON + 30_000).toUTCString()}`], '30', '30 seconds'],
  ['a date in the past', [`Retry-After: ${new Date(NOON - 30_000).toUTCString()}`], '1', 'a second'],
  ['x-ratelimit-reset', [`X-RateLimit-Reset: ${Math.floor(NOON / 1_000) + 240}`], '240', '4 minutes'],
  ['neither', [], '1', 'a second'],
  ['nonsense', ['Retry-After: soon', 'X-RateLimit-Reset: 1e400'], '1', 'a second'],
  ['a year', ['Retry-After: 31536000'], '3600', '60 minutes'],
])('A rate limit with %s says how long to wait', async (_name, fields, seconds, words) => {
  const { page } = await answerOver(always(429, ...fields), { now: () => NOON });
  expect(page.status).toBe(503);
  expect(page.headers['retry-after']).toBe(seconds);
  expect(page.text).toMatch(new RegExp(`You can try again in <time [^>]*>${words}</time>`));
});

test('Any other status is a 502 page in plain words; the log hears which it was', async () => {
  const { page, failures } = await answerOver(always(500));
  expect(page.status).toBe(502);
  expect(page.text).toContain('Nothing is lost, and you are still signed in. Try again in a few minutes.');
  expect(page.text).not.toMatch(/from the service|\b500\b/);
  expect(causeOf(failures[0])).toBe('the service responded 500 Internal Server Error');
});

test('A redirect of the service is not followed', async () => {
  const { page, calls } = await answerOver(always(302, 'Location: /elsewhere'));
  expect(page.status).toBe(502);
  expect(calls).toHaveLength(1);
});

test.each([
  ['no JSON', '<html>'],
  ['cut JSON', '{"value":['],
  ['an array', '[]'],
  ['null', 'null'],
  ['no value', '{"items":[]}'],
  ['a value that is no array', '{"value":{"0":"a"}}'],
  ['more items than anybody asks for', JSON.stringify({ value: Array.from({ length: 10_001 }, () => 0) })],
  ['a next that is a number', '{"value":[],"next":2}'],
  ['an empty next', '{"value":[],"next":""}'],
  ['a next that fits into no address', JSON.stringify({ value: [], next: 'x'.repeat(8_193) })],
  ['a next that is half a character', '{"value":[],"next":"\\ud800"}'],
  ['bytes that are no text', Buffer.from([0xff, 0xfe, 0x00])],
])('An answer with %s is a 502 page', async (_name, text) => {
  const { page, failures } = await answerOver(body(text));
  expect(page.status).toBe(502);
  expect(page.text).toContain('The service sent something unexpected');
  expect(causeOf(failures[0])).toMatch(/^the response is no (JSON|page of a list)$/);
});

test('An answer over 10 MiB is a 502 page', async () => {
  const { page, failures } = await answerOver(
    body(JSON.stringify({ value: ['x'.repeat(10 * 1024 * 1024)] })),
  );
  expect(page.status).toBe(502);
  expect(causeOf(failures[0])).toBe('the response is too large');
});

test('An answer that breaks off is a 502 page', async () => {
  const { page } = await answerOver((_call, socket) => {
    socket.end('HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"value":[');
    return null;
  });
  expect(page.status).toBe(502);
  expect(page.text).toContain('The service can’t be reached');
});

test('A service that does not answer is a 504 page', async () => {
  const { page } = await answerOver(() => null, { timeoutSeconds: 0.05 });
  expect(page.status).toBe(504);
  expect(page.text).toContain('The service did not respond in time');
});

test('A service that begins to answer and falls silent is a 504 page', async () => {
  const begun = 'HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{"value":[';
  const { page } = await answerOver(() => begun, { timeoutSeconds: 0.05 });
  expect(page.status).toBe(504);
});

test('A service that answers a byte at a time is a 504 page once the time is up', async () => {
  const { page } = await answerOver(
    (_call, socket) => {
      const drip = setInterval(() => socket.write(' '), 10);
      socket.once('close', () => clearInterval(drip));
      return 'HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n';
    },
    { timeoutSeconds: 0.2 },
  );
  expect(page.status).toBe(504);
});

test('A refusal whose body never ends is the page of that refusal once the time is up', async () => {
  const begun = 'HTTP/1.1 403 Forbidden\r\nContent-Length: 100\r\n\r\n{';
  const { page } = await answerOver(() => begun, { timeoutSeconds: 1 }); // its head comes before
  expect(page.status).toBe(403);
});

test('A service that is not there is a 502 page', async () => {
  const closed = createServer().listen(0, '127.0.0.1');
  await once(closed, 'listening');
  const { port } = closed.address() as AddressInfo;
  closed.close();
  await using app = await start({ origin: `http://127.0.0.1:${port}` });
  const page = await request(app.server).get('/workspaces?page=2').expect(502);
  expect(page.text).toContain('The service can’t be reached');
  expect(page.text).toContain('you are still signed in.');
  expect(page.text).toContain('href="/workspaces?page=2">Try again</a>');
});

test('A reader who goes away ends the call to the service, and that is no failure', async () => {
  const gone = new AbortController();
  const calls = new EventEmitter();
  const cut = once(calls, 'cut');
  await using service = await startSmallService([], (_call, socket) => {
    socket.once('close', () => calls.emit('cut'));
    gone.abort();
    return null;
  });
  const failures: unknown[] = [];
  await using app = await start(service, {
    timeoutSeconds: 3_600,
    onFailure: (error) => failures.push(error),
  });
  const { port } = app.server.address() as AddressInfo;
  await expect(fetch(`http://127.0.0.1:${port}/workspaces`, { signal: gone.signal })).rejects.toThrow(
    'abort',
  );
  await cut;
  expect(failures).toEqual([]); // nobody is there to hear of one
});
