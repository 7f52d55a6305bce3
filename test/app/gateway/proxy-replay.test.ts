import { randomBytes } from 'node:crypto';
import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { API_PATH as PATH, MIB, TOKEN_PATH } from '../../support/constants.ts';
import type { RawConnection } from '../../support/raw-client.ts';
import { startRawApp } from '../../support/raw-app.ts';
import { valuesOf, withoutFields } from '../../support/raw-message.ts';
import { ok, type RawRequest } from '../../support/raw-service.ts';
import { useFixture } from '../../support/fixtures.ts';

// These tests cover API requests that get a 401 from the service (docs/api.md), and the Server-Timing field of their responses.

const KEPT = 64 * 1024;
const FRAMING = ['content-length', 'transfer-encoding'];

const respond = (status: string, body = '', field = 'X-One: 1') =>
  `HTTP/1.1 ${status}\r\n${field}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
const REFUSED = respond('401 Unauthorized', 'the first refusal', 'WWW-Authenticate: Bearer error="first"');
const REFRESHED = ok('{"access_token":"a-new-token","expires_in":900}');

/** The service's responses to API requests with each token, and to token requests. */
let responses: { toOldToken: string; toNewToken: string; atTokenEndpoint: string };

const raw = useFixture(async () => startRawApp());
beforeAll(() => {
  raw.service.respond = (request) => {
    if (isRefresh(request)) return responses.atTokenEndpoint;
    return tokenOf(request) === 'Bearer a-new-token' ? responses.toNewToken : responses.toOldToken;
  };
});
beforeEach(async () => {
  raw.service.requests.length = 0;
  responses = { toOldToken: REFUSED, toNewToken: ok('done'), atTokenEndpoint: REFRESHED };
  await raw.createSession();
});

const isRefresh = ({ start }: RawRequest) => start.includes(TOKEN_PATH);
const tokenOf = (request: RawRequest) => valuesOf(request, 'authorization')[0];
/** Requests to the service, except token requests. */
const apiRequests = () => raw.service.requests.filter((request) => !isRefresh(request));
const refreshes = () => raw.service.requests.filter(isRefresh);
/** Frames a body in chunks of at most 10,000 bytes. */
function inChunks(body: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < body.length; at += 10_000) {
    const part = body.subarray(at, at + 10_000);
    parts.push(Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n'));
  }
  return Buffer.concat([...parts, Buffer.from('0\r\n\r\n')]);
}

describe('a request with a body of at most 64 KiB', () => {
  test.each([
    ['GET', null],
    ['HEAD', null],
    ['DELETE', null],
    ['POST', 0],
    ['POST', 1],
    ['GET', 1],
    ['PUT', KEPT],
    ['PROPFIND', KEPT],
  ])('is repeated byte for byte with the new token (%s, %s bytes)', async (method, size) => {
    const body = randomBytes(size ?? 0);
    const fields = ['X-Twice: 1', 'x-twice: 2', 'Range: bytes=0-1', 'If-None-Match: "e"'];
    if (size !== null) fields.push(`Content-Length: ${size}`);
    const { start, rest } = await raw.send(`${method} ${PATH}?a=%2F&b`, fields, body);
    expect(start).toBe('HTTP/1.1 200 OK');
    expect(rest.toString()).toBe(method === 'HEAD' ? '' : 'done');

    const [first, second] = apiRequests();
    expect(refreshes()).toHaveLength(1);
    expect(apiRequests().map(tokenOf)).toEqual(['Bearer a-valid-token', 'Bearer a-new-token']);
    expect(second?.start).toBe(`${method} ${PATH}?a=%2F&b HTTP/1.1`);
    expect(second?.body.equals(body)).toBe(true);
    expect(second && withoutFields(second, ['authorization'])).toEqual(
      first && withoutFields(first, ['authorization']),
    );
  });

  test.each([0, 1, KEPT])('in chunks is repeated with the same bytes (%i bytes)', async (size) => {
    const body = randomBytes(size);
    const { rest } = await raw.send(`POST ${PATH}`, ['Transfer-Encoding: chunked'], inChunks(body));
    expect(rest.toString()).toBe('done');
    expect(apiRequests().map((each) => each.body.equals(body))).toEqual([true, true]);
    const [first, second] = apiRequests().map((each) => withoutFields(each, [...FRAMING, 'authorization']));
    expect(second).toEqual(first);
  });

  test('never gets any part of the first response', async () => {
    const { fields, rest } = await raw.send(`GET ${PATH}`);
    expect(fields.join()).not.toContain('first');
    expect(rest.toString()).toBe('done');
  });

  test('has the same request id in both attempts and in its response', async () => {
    const { fields } = await raw.send(`GET ${PATH}`);
    const ids = [...apiRequests(), { fields }].flatMap((each) => valuesOf(each, 'x-request-id'));
    expect(ids).toHaveLength(3);
    expect(new Set(ids).size).toBe(1);
  });

  test.each(['401 Unauthorized', '403 Forbidden', '500 Oops'])(
    'is sent at most twice (%s)',
    async (status) => {
      responses.toNewToken = respond(status, 'the second response');
      const { start, rest } = await raw.send(`POST ${PATH}`, ['Content-Length: 3'], 'tea');
      expect(start.slice(9, 12)).toBe(status.slice(0, 3));
      expect(rest.toString()).toBe('the second response');
      expect(apiRequests()).toHaveLength(2);
      expect(refreshes()).toHaveLength(1);
    },
  );
});

describe('a request with a larger body', () => {
  test.each([
    ['with a Content-Length', `Content-Length: ${KEPT + 1}`, (body: Buffer) => body],
    ['in chunks', 'Transfer-Encoding: chunked', inChunks],
  ])('is not repeated, but the next request has a new token (%s)', async (_how, field, frame) => {
    const body = randomBytes(KEPT + 1);
    const refused = await raw.send(`POST ${PATH}`, [field], frame(body));
    expect(refused.start).toMatch(/^HTTP\/1.1 401 /);
    expect(valuesOf(refused, 'www-authenticate')).toEqual(['Bearer error="first"']);
    expect(refused.rest.toString()).toBe('the first refusal');
    expect(apiRequests().map((each) => each.body.equals(body))).toEqual([true]);

    expect((await raw.send(`POST ${PATH}`, [field], frame(body))).rest.toString()).toBe('done');
    expect(refreshes()).toHaveLength(1);
  });
});

describe('a 401', () => {
  test.each(['400 Bad', '403 Forbidden', '407 Proxy', '419 Expired', '500 Oops', '503 Busy'])(
    'causes a token refresh and a repeated request, but %s does not',
    async (status) => {
      responses.toOldToken = respond(status, 'as it is');
      const { start, rest } = await raw.send(`GET ${PATH}`);
      expect(start.slice(9, 12)).toBe(status.slice(0, 3));
      expect(rest.toString()).toBe('as it is');
      expect(raw.service.requests).toHaveLength(1);
    },
  );

  test.each([
    ['another OAuth error', respond('400 Bad Request', '{"error":"temporarily_unavailable"}')],
    ['a 503', respond('503 Busy', 'busy')],
    ['an unreadable response', ok('nonsense')],
  ])('becomes token_endpoint_unavailable if the refresh gets %s', async (_what, atTokenEndpoint) => {
    responses.atTokenEndpoint = atTokenEndpoint;
    const { start, fields, rest } = await raw.send(`GET ${PATH}`);
    expect(start).toMatch(/^HTTP\/1.1 503 /);
    expect(valuesOf({ fields }, 'retry-after')[0]).toMatch(/^\d+$/);
    expect(JSON.parse(rest.toString())).toMatchObject({ status: 503, code: 'token_endpoint_unavailable' });
    expect([fields.join(), rest.toString()].join()).not.toMatch(/first/);
    expect(apiRequests()).toHaveLength(1);
  });

  test('becomes session_expired if the refresh gets invalid_grant', async () => {
    responses.atTokenEndpoint = respond('400 Bad Request', '{"error":"invalid_grant"}');
    const { start, rest } = await raw.send(`GET ${PATH}`);
    expect(start).toMatch(/^HTTP\/1.1 401 /);
    expect(JSON.parse(rest.toString())).toMatchObject({ code: 'session_expired', loginUrl: '/auth/login' });
    expect(apiRequests()).toHaveLength(1);
  });
});

describe.each([
  ['keeps reading', ({ socket }: RawConnection) => socket.write(REFUSED, 'latin1')],
  [
    'closes the connection',
    ({ socket }: RawConnection) => socket.end(REFUSED.replace('X-One: 1', 'Connection: close'), 'latin1'),
  ],
])('a service that responds with a 401 before it has received the whole body and %s', (_how, refuse) => {
  test('never gets the request again, and the client gets the 401 immediately', async () => {
    const start = 'x'.repeat(KEPT); // once this part has arrived, the gateway starts the upstream request
    const { browser, service } = await raw.begin(`POST ${PATH}`, [`Content-Length: ${20 * MIB}`], start);
    await service.until(start);
    refuse(service);
    expect(await browser.until('the first refusal')).toMatch(/^HTTP\/1.1 401 /);
    browser.socket.destroy();
    service.socket.destroy();
  });
});

describe('Server-Timing', () => {
  const REFRESHED_TIMING = 'session;dur, token;dur;desc=refreshed, service;dur';

  test.each<[what: string, responses: object, body: string, timing: string]>([
    ['an ordinary request', { toOldToken: ok('done') }, '', 'session;dur, token;dur, service;dur'],
    ['a repeated request', {}, '', `${REFRESHED_TIMING};desc=replayed`],
    ['a request with a body too large to be repeated', {}, 'x'.repeat(70_000), REFRESHED_TIMING],
    ['a failed refresh', { atTokenEndpoint: respond('503 Busy') }, '', 'session;dur, token;dur, service;dur'],
  ])('for %s shows what the gateway refreshed and repeated', async (_what, others, body, timing) => {
    Object.assign(responses, others);
    expect(await serverTiming(body)).toBe(timing);
  });

  test('shows the token refresh for a request with an expired token', async () => {
    await raw.createSession({ expiresAt: 0 });
    expect(await serverTiming()).toBe(REFRESHED_TIMING);
  });

  /** Sends a request and returns the Server-Timing field without the durations. */
  async function serverTiming(body = ''): Promise<string> {
    const { fields } = await raw.send(`POST ${PATH}`, [`Content-Length: ${body.length}`], body);
    return (valuesOf({ fields }, 'server-timing')[0] ?? '').replaceAll(/dur=[\d.]+/g, 'dur');
  }
});
