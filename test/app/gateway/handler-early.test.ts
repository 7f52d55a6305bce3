import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
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

// The service gets a GET or HEAD request while Redis is still reading the session (docs/decisions/0004). The client must see no difference.

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
const unavailable = 'HTTP/1.1 503 Busy\r\nContent-Length: 0\r\n\r\n';
const isRefresh = ({ start }: RawRequest) => start.includes(TOKEN_PATH);

/** Resolves once Cloakroom has handled everything that it has received. */
const untilIdle = async () => void (await fetch(`${raw.testApp.origin}/healthz`));

/** Sends a request while Redis holds the read. Resolves once the service has received the request. */
async function sendWhileReadIsHeld(requestLine = `GET ${PATH}`) {
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
test.each(RESPONSES)(
  'a response that arrives before the session has been read reaches the client unchanged (%s)',
  async (_what, method, bytes) => {
    raw.service.respond = (_request, socket) => {
      socket.write(bytes, 'latin1');
      if (bytes.includes('Connection: close')) socket.end();
      return null;
    };
    const toComparable = (response: string) =>
      response.replaceAll(/(?<=x-request-id: |dur=)[^,;\r]+|(?<=date: )[^\r]+/gi, '…');
    const client = await sendWhileReadIsHeld(`${method} ${PATH}`);
    expect(client.text()).toBe('');
    await releaseReads();
    await client.closed;

    await raw.createSession(); // a session that the process has not read yet
    const later = await openConnection(raw.testApp.config.port);
    later.socket.write(raw.head(`${method} ${PATH}`, ['Connection: close']));
    await later.closed;
    expect(toComparable(client.text())).toBe(toComparable(later.text()));
    expect(raw.service.requests).toHaveLength(2);
  },
);

test.each([
  ['the service responds', ok('a secret')],
  ['the service is still sending', 'HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\na secret'],
  ['the service responds with a 401', 'HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n'],
  ['the service fails', null],
])(
  'after a sign-out in another process, the client gets a 401, and the service no further requests (%s)',
  async (_what, bytes) => {
    const dropped = createDeferred<void>();
    raw.service.respond = (_request, socket) => {
      socket.once('close', () => dropped.resolve());
      if (bytes === null) socket.resetAndDestroy();
      return bytes;
    };
    await redis().set(sessionKey('cloakroom:', id), 'ended');
    const client = await sendWhileReadIsHeld();
    expect(client.text()).toBe('');
    await releaseReads();
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1.1 401 [\s\S]*"session_expired"/);
    expect(client.text()).not.toMatch(/secret|\r\nvia:/i);
    expect(client.text()).toMatch(/service;dur=0\r/);
    await dropped.promise;

    expect(await sendAndWaitForSession('GET')).toMatch(/^HTTP\/1.1 401 /);
  },
);

test('after a sign-out in the same process, the service gets no request', async () => {
  await raw.testApp.services.store.end(id);
  expect(await sendAndWaitForSession('GET')).toMatch(/^HTTP\/1.1 401 /);
});

test('after the maximum age of a session, the service gets no request', async () => {
  const { advanceClock, config } = raw.testApp;
  const maxMs = config.sessionMaxSeconds * 1_000;
  await raw.createSession({ expiresAt: Date.now() + 2 * maxMs });
  await raw.send(`GET ${PATH}`);
  advanceClock(maxMs);
  expect(await sendAndWaitForSession('GET')).toMatch(/^HTTP\/1.1 401 /);
  advanceClock(-maxMs);
});

test('if Redis does not reply, the client gets a 503, and the service no further requests', async () => {
  const other = await raw.testApp.createSession();
  const inOtherSession = async () => fetch(raw.testApp.origin + PATH, { headers: { cookie: other.cookie } });
  await inOtherSession();
  raw.service.requests.length = 0;
  const client = await sendWhileReadIsHeld();
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
  expect(await sendAndWaitForSession('GET')).toMatch(/^HTTP\/1.1 503 /);
});

test('if the service fails, the client gets a 502 once the session has been read', async () => {
  raw.service.respond = (_request, socket) => {
    socket.resetAndDestroy();
    return null;
  };
  const client = await sendWhileReadIsHeld();
  expect(client.text()).toBe('');
  await releaseReads();
  await client.closed;
  expect(client.text()).toMatch(/^HTTP\/1.1 502 [\s\S]*"service_unreachable"/);
});

test.each([
  ['a-newer-token', ['a-valid-token', 'a-newer-token']],
  ['the-newest-token', ['a-valid-token', 'a-newer-token', 'the-newest-token']],
])(
  'if another process has refreshed the token, a 401 for the old one leads to %s',
  async (accepted, tokens) => {
    await using other = createServices(raw.testApp.config, raw.testApp.services.log);
    await redisReady(other.redis);
    const session = await other.store.read(id);
    if (session === null) throw new Error('the session has ended');
    const grant = { ...session.record.grant, accessToken: 'a-newer-token' };
    const refreshedAt = Date.now() - 60_000; // a 401 for a younger token would be forwarded
    await other.store.replace(session, { ...session.record, grant, refreshedAt });

    const REFUSED = 'HTTP/1.1 401 No\r\nContent-Length: 0\r\n\r\n';
    raw.service.respond = (request) => {
      if (isRefresh(request)) return ok('{"access_token":"the-newest-token","expires_in":900}');
      return tokenOf(request) === `Bearer ${accepted}` ? ok('new') : REFUSED;
    };
    const client = await sendWhileReadIsHeld();
    await releaseReads();
    await client.closed;
    expect(client.text()).toMatch(/^HTTP\/1.1 200 [\s\S]*new$/);
    const [api, refreshes] = [
      raw.service.requests.filter((each) => !isRefresh(each)),
      raw.service.requests.filter(isRefresh),
    ];
    expect(api.map(tokenOf)).toEqual(tokens.map((token) => `Bearer ${token}`));
    expect(refreshes).toHaveLength(tokens.length - 2);
  },
);

test('if the client disconnects, the request is aborted', async () => {
  const aborted = createDeferred<void>();
  raw.service.respond = (_request, socket) => {
    socket.once('close', () => aborted.resolve());
    return null;
  };
  const client = await sendWhileReadIsHeld();
  client.socket.destroy();
  await aborted.promise;
  await releaseReads();
  raw.service.respond = () => ok('next');
  expect((await raw.send(`GET ${PATH}`)).rest.toString()).toBe('next');
});

test('the access log shows how the request used its token', async () => {
  raw.testApp.logged.length = 0;
  const client = await sendWhileReadIsHeld();
  await releaseReads();
  await client.closed;
  const line = raw.testApp.logged.find((each) => each.includes('"msg":"request"') && each.includes('/api/'));
  expect(JSON.parse(line ?? '')).toMatchObject({ status: 200, token: 'unexpired' });
});

const LATE_MS = 100;
test.each(['before', 'after'])(
  'Server-Timing shows the time of both stages if the service responds %s the session has been read',
  async (when) => {
    const received = createDeferred<() => void>();
    raw.service.respond = (_request, socket) => {
      received.resolve(() => socket.write(ok('late')));
      return null;
    };
    const client = await sendWhileReadIsHeld();
    await delay(LATE_MS); // the time is what the test measures
    const respond = await received.promise;
    if (when === 'before') respond();
    await untilIdle();
    await releaseReads();
    await untilIdle();
    if (when === 'after') respond();
    await client.closed;
    const times = /session;dur=([\d.]+), .*service;dur=([\d.]+)/.exec(client.text())?.slice(1) ?? [];
    for (const ms of times) expect(Number(ms)).toBeGreaterThanOrEqual(LATE_MS);
    expect(times).toHaveLength(2);
  },
);

test.each([
  ['a POST', 'POST', {}, ['Content-Length: 0'], ''],
  ['a GET with a body', 'GET', {}, ['Content-Length: 1'], 'x'],
  ['a GET with an expired token', 'GET', { expiresAt: 0 }, [], ''],
])('%s waits for the session', async (_what, method, grant, fields, body) => {
  raw.service.respond = (request) => (isRefresh(request) ? unavailable : ok('done'));
  await raw.createSession(grant);
  await raw.send(`GET ${PATH}`);
  const status = 'expiresAt' in grant ? 503 : 200; // 503 if the service refuses the refresh
  expect(await sendAndWaitForSession(method, fields, body)).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
});

/** Checks that the service does not get a request before the session has been read. Resolves with the response. */
async function sendAndWaitForSession(method: string, fields: readonly string[] = [], body = '') {
  raw.service.requests.length = 0;
  await holdReads();
  const client = await openConnection(raw.testApp.config.port);
  const head = raw.head(`${method} ${PATH}`, ['Connection: close', ...fields]);
  client.socket.write(Buffer.concat([head, Buffer.from(body)]));
  await eventually(async () => (await blockedClients()) === 1);
  await untilIdle();
  expect(raw.service.requests.filter((request) => !isRefresh(request))).toEqual([]);
  await releaseReads();
  await client.closed;
  return client.text();
}

/** Resolves with the number of connections whose commands Redis holds. */
async function blockedClients(): Promise<number> {
  return Number(/^blocked_clients:(\d+)/m.exec(await redis().info('clients'))?.[1]);
}
