import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { redisReady } from '../../../src/redis/client.ts';
import { createServices } from '../../../src/services.ts';
import { sessionKey } from '../../../src/session/store.ts';
import { API_PATH as PATH, TOKEN_PATH } from '../../support/constants.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import { openConnection } from '../../support/raw-client.ts';
import { valuesOf } from '../../support/raw-message.ts';
import { startRawApp } from '../../support/raw-app.ts';
import { ok, okAndClose, type RawRequest } from '../../support/raw-service.ts';

// The service gets a GET or HEAD request while Redis is still reading the session (docs/decisions/0004). No client may notice.

const raw = useFixture(async () => startRawApp());
/** Another client of the same Redis, as another process has. */
const redis = () => raw.testApp.redis;
let id: string;

beforeEach(async () => {
  raw.service.respond = () => ok('done');
  id = await raw.createSession();
  await raw.send(`GET ${PATH}`); // from here on, the process knows the session
  raw.service.requests.length = 0;
});
afterEach(async () => releaseReads());

/** Makes Redis hold session reads, which reset a time to live. Redis still serves reads without writes. */
const holdReads = async () => redis().client('PAUSE', 60_000, 'WRITE');
const releaseReads = async () => {
  await redis().client('UNPAUSE');
  await redisReady(raw.testApp.services.redis); // Cloakroom reconnects if Redis has held a read for too long
};
const tokenOf = (request: RawRequest) => valuesOf(request, 'authorization')[0];
const isRefresh = ({ start }: RawRequest) => start.includes(TOKEN_PATH);

/** Resolves once Cloakroom has handled everything that it has received. */
const untilIdle = async () => void (await fetch(`${raw.testApp.origin}/healthz`));

/** Sends a request while Redis holds the read. Resolves once the service has responded. */
async function sendEarly(requestLine = `GET ${PATH}`) {
  await holdReads();
  const client = await openConnection(raw.testApp.config.port);
  client.socket.write(raw.head(requestLine, ['Connection: close']));
  await eventually(async () => raw.service.requests.length === 1);
  await untilIdle();
  return client;
}

const EMPTY_CHUNK = '0\r\n\r\n';
const RESPONSES = [
  ['a short body', 'GET', ok('short')],
  ['a long body', 'GET', ok('x'.repeat(300_000))],
  ['a long body at the end of the connection', 'GET', okAndClose('x'.repeat(300_000))],
  ['no length', 'GET', 'HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nuntil the end'],
  ['chunks', 'GET', `HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nfour\r\n${EMPTY_CHUNK}`],
  ['no body', 'GET', ok()],
  ['204', 'GET', 'HTTP/1.1 204 No Content\r\nETag: "e"\r\n\r\n'],
  ['304', 'GET', 'HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\nETag: "e"\r\n\r\n'],
  ['an interim response', 'GET', `HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n${ok('last')}`],
  ['an error', 'GET', 'HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops'],
  ['the head only', 'HEAD', 'HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n'],
] as const;
test.each(RESPONSES)('the client gets the response after the session (%s)', async (_what, method, bytes) => {
  raw.service.respond = (_request, socket) => {
    socket.write(bytes, 'latin1');
    if (bytes.includes('Connection: close')) socket.end();
    return null;
  };
  const toComparable = (response: string) =>
    response.replaceAll(/(?<=x-request-id: |dur=)[^,;\r]+|(?<=date: )[^\r]+/gi, '…');
  const client = await sendEarly(`${method} ${PATH}`);
  expect(client.text()).toBe('');
  await releaseReads();
  await client.closed;

  await raw.createSession(); // a session that the process has not read yet
  const later = await openConnection(raw.testApp.config.port);
  later.socket.write(raw.head(`${method} ${PATH}`, ['Connection: close']));
  await later.closed;
  expect(toComparable(client.text())).toBe(toComparable(later.text()));
  expect(raw.service.requests).toHaveLength(2);
});

describe('if the session has ended in another process', () => {
  test.each([
    ['the service responds', ok('a secret')],
    ['the service responds with a 401', 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n'],
    ['the service fails', null],
  ])('the client gets a 401, and the service at most one request (%s)', async (_what, bytes) => {
    const dropped = createDeferred<void>();
    raw.service.respond = (_request, socket) => {
      socket.once('close', () => dropped.resolve());
      if (bytes === null) socket.resetAndDestroy();
      return bytes;
    };
    await redis().set(sessionKey('cloakroom:', id), 'ended');
    const client = await sendEarly();
    expect(client.text()).toBe('');
    await releaseReads();
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1.1 401 [\s\S]*"session_expired"/);
    expect(client.text()).not.toMatch(/secret|\r\nvia:/i);
    await dropped.promise;

    const { start } = await raw.send(`GET ${PATH}`);
    expect(start).toMatch(/^HTTP\/1.1 401 /);
    expect(raw.service.requests).toHaveLength(1);
  });
});

test('if Redis does not reply, the client gets a 503, and the service no further requests', async () => {
  const other = await raw.testApp.createSession();
  const inOtherSession = async () => fetch(raw.testApp.origin + PATH, { headers: { cookie: other.cookie } });
  await inOtherSession();
  raw.service.requests.length = 0;
  const client = await sendEarly();
  await client.closed;
  expect(client.text()).toMatch(/^HTTP\/1.1 503 [\s\S]*"session_store_unavailable"/);
  expect((await raw.send(`GET ${PATH}`)).start).toMatch(/^HTTP\/1.1 503 /);
  expect((await inOtherSession()).status).toBe(503);
  expect(raw.service.requests).toHaveLength(1);
  await releaseReads();
  expect((await raw.send(`GET ${PATH}`)).rest.toString()).toBe('done');
});

test('if only this session cannot be read, the service gets no further requests in it', async () => {
  const key = sessionKey('cloakroom:', id);
  await redis().del(key);
  await redis().lpush(key, 'a list instead of a record');
  const { cookie } = await raw.testApp.createSession();
  const inOtherSession = async () => fetch(raw.testApp.origin + PATH, { headers: { cookie } });
  expect((await raw.send(`GET ${PATH}`)).start).toMatch(/^HTTP\/1.1 503 /);
  expect((await inOtherSession()).status).toBe(200);
  raw.service.requests.length = 0;
  expect((await raw.send(`GET ${PATH}`)).start).toMatch(/^HTTP\/1.1 503 /);
  expect((await inOtherSession()).status).toBe(200);
  expect(raw.service.requests).toHaveLength(1);
});

test('if the service fails, the client gets a 502 after the session', async () => {
  raw.service.respond = (_request, socket) => {
    socket.resetAndDestroy();
    return null;
  };
  const client = await sendEarly();
  expect(client.text()).toBe('');
  await releaseReads();
  await client.closed;
  expect(client.text()).toMatch(/^HTTP\/1.1 502 [\s\S]*"service_unreachable"/);
});

test('if another process has refreshed the token, a 401 for the old one repeats the request', async () => {
  await using other = createServices(raw.testApp.config, raw.testApp.services.log);
  await redisReady(other.redis);
  const session = await other.store.read(id);
  if (session === null) throw new Error('the session has ended');
  const grant = { ...session.record.grant, accessToken: 'a-newer-token' };
  await other.store.replace(session, { ...session.record, grant, refreshedAt: Date.now() });

  raw.service.respond = (request) =>
    tokenOf(request) === 'Bearer a-newer-token' ? ok('new') : 'HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n';
  const client = await sendEarly();
  await releaseReads();
  await client.closed;
  expect(client.text()).toMatch(/^HTTP\/1.1 200 [\s\S]*new$/);
  expect(raw.service.requests.map(tokenOf)).toEqual(['Bearer a-valid-token', 'Bearer a-newer-token']);
  expect(raw.service.requests.filter(isRefresh)).toEqual([]);
});

test('if the client disconnects, the request is aborted', async () => {
  const aborted = createDeferred<void>();
  raw.service.respond = (_request, socket) => {
    socket.once('close', () => aborted.resolve());
    return null;
  };
  const client = await sendEarly();
  client.socket.destroy();
  await aborted.promise;
  await releaseReads();
  raw.service.respond = () => ok('next');
  expect((await raw.send(`GET ${PATH}`)).rest.toString()).toBe('next');
});

test.each([
  ['a POST', `POST ${PATH}`, {}, 'Content-Length: 0'],
  ['a GET with a body', `GET ${PATH}`, {}, 'Content-Length: 1'],
  ['a GET whose token is about to expire', `GET ${PATH}`, { expiresAt: Date.now() + 20_000 }, 'A: 1'],
])('%s waits for the session', async (_what, requestLine, grant, field) => {
  await raw.createSession(grant);
  await raw.send(`GET ${PATH}`);
  raw.service.requests.length = 0;
  await holdReads();
  const client = await openConnection(raw.testApp.config.port);
  client.socket.write(Buffer.concat([raw.head(requestLine, ['Connection: close', field]), Buffer.from('x')]));
  await untilIdle();
  await untilIdle();
  expect(raw.service.requests.filter((request) => !isRefresh(request))).toEqual([]);
  await releaseReads();
  await client.closed;
  expect(client.text()).toMatch(/^HTTP\/1.1 200 /);
});
