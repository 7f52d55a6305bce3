import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { createRefreshJournal } from '../../../../src/oauth/refresh/journal.ts';
import { createRefreshLocks, type HeldLock, type RefreshLocks } from '../../../../src/oauth/refresh/lock.ts';
import { createTokenProvider } from '../../../../src/oauth/refresh/token-provider.ts';
import { redisReady } from '../../../../src/redis/client.ts';
import { createServices, type Services } from '../../../../src/services.ts';
import type { Session } from '../../../../src/session/record.ts';
import { sessionScopedKey } from '../../../../src/session/store.ts';
import { API_PATH as PATH, TOKEN_PATH } from '../../../support/constants.ts';
import { sendJson, tokenRequests, type Interceptor } from '../../../support/test-app.ts';
import { eventually } from '../../../support/eventually.ts';
import { useFixture, useTestApp } from '../../../support/fixtures.ts';

const testApp = useTestApp();
/** The services of a second process that uses the same Redis. */
const other = useFixture(startServices);

async function startServices(): Promise<Services> {
  const services = createServices(testApp.config, testApp.services.log);
  await redisReady(services.redis);
  return services;
}

beforeEach(() => {
  testApp.serviceRequests.length = 0;
});
afterEach(() => {
  testApp.intercept = () => false;
});

const EXPIRED = { expiresAt: 0 };

/** A service that accepts one token and issues a new token at each refresh, or closes the connection if `grants` returns null. */
function service({
  accepts = 'refreshed-1',
  grants = (count: number): object | null => ({ access_token: `refreshed-${count}`, expires_in: 900 }),
} = {}): Interceptor {
  let count = 0;
  return (req, res) => {
    if (req.url === TOKEN_PATH) {
      const granted = grants((count += 1));
      if (granted === null) req.socket.destroy();
      else sendJson(res, 200, granted);
    } else if (req.headers.authorization === `Bearer ${accepts}`) res.end('here you are');
    else res.writeHead(401).end('go away');
    return true;
  };
}

/** Makes the token endpoint wait for `respond()`. The response to any other request is its Authorization header. */
function holdRefresh(accessToken: string): { requested: Promise<void>; respond: () => void } {
  const held = { respond: () => {} };
  const requested = new Promise<void>((resolve) => {
    testApp.intercept = (req, res) => {
      if (req.url !== TOKEN_PATH) return Boolean(res.end(req.headers.authorization));
      held.respond = () => sendJson(res, 200, { access_token: accessToken });
      resolve();
      return true;
    };
  });
  return { requested, respond: () => held.respond() };
}

const get = (cookie: string) => request(testApp.origin).get(PATH).set('cookie', cookie);
const readSession = async (id: string): Promise<Session> => {
  const found = await testApp.services.store.peek(id);
  if (found === null) throw new Error('no session');
  return found.session;
};
const grantOf = async (id: string) => (await testApp.services.store.peek(id))?.session.record.grant;

describe('an expired token', () => {
  test('is refreshed together with its refresh token if the service rotates refresh tokens', async () => {
    testApp.intercept = service({
      grants: () => ({ access_token: 'refreshed-1', refresh_token: 'rotated' }),
    });
    const { id, cookie } = await testApp.createSession(EXPIRED);
    await get(cookie).expect(200);
    expect(await grantOf(id)).toMatchObject({ refreshToken: 'rotated', lifetimeMs: 900_000 });
  });

  test('that the service reissues with a longer lifetime is refreshed only once by two concurrent processes', async () => {
    const grants = (count: number) => ({ access_token: 'the-same', refresh_token: `refresh-${count}` });
    testApp.intercept = service({ accepts: 'the-same', grants });
    const { id } = await testApp.createSession({ ...EXPIRED, accessToken: 'the-same' });
    const session = await readSession(id);
    const tokens = [testApp.services, other].flatMap(({ tokens: provider }) =>
      Array.from({ length: 5 }, async () => provider.accessToken(session)),
    );
    expect(new Set(await Promise.all(tokens))).toEqual(new Set(['the-same']));
    expect(tokenRequests(testApp)).toHaveLength(1);
    expect(await grantOf(id)).toMatchObject({ refreshToken: 'refresh-1' });
  });
});

describe('an expiring token', () => {
  test('is used while it is being refreshed in the background', async () => {
    const refresh = holdRefresh('refreshed-1');
    const { id, cookie } = await testApp.createSession({ expiresAt: Date.now() + 30_000 });
    await get(cookie).expect(200, 'Bearer a-valid-token');
    await refresh.requested;
    await get(cookie).expect(200, 'Bearer a-valid-token');
    refresh.respond();
    await eventually(async () => (await grantOf(id))?.accessToken === 'refreshed-1');
    expect(tokenRequests(testApp)).toHaveLength(1);
  });

  test('is not refreshed before the last third of its lifetime', async () => {
    testApp.intercept = service({ accepts: 'a-valid-token' });
    const inSeconds = (seconds: number) => ({ lifetimeMs: 60_000, expiresAt: Date.now() + seconds * 1_000 });
    const fresh = await testApp.createSession(inSeconds(50));
    const expiring = await testApp.createSession(inSeconds(15));
    await get(fresh.cookie).expect(200);
    // Any refresh of the fresh session would start first, so it would be counted below.
    await get(expiring.cookie).expect(200);
    await eventually(async () => (await grantOf(expiring.id))?.accessToken === 'refreshed-1');
    expect((await grantOf(fresh.id))?.accessToken).toBe('a-valid-token');
    expect(tokenRequests(testApp)).toHaveLength(1);
  });
});

describe('a token that the service refuses', () => {
  test('directly after a refresh is not refreshed again, and the 401 is forwarded', async () => {
    testApp.intercept = service({ accepts: 'refreshed-2' });
    const { cookie } = await testApp.createSession(EXPIRED);
    await get(cookie).expect(401, 'go away');
    expect(tokenRequests(testApp)).toHaveLength(1);
  });

  test.each([
    ['when it is younger than 30 seconds is not refreshed', 29_000, 401, 0],
    ['when it is younger than 30 seconds by the clock of another process is not refreshed', -29_000, 401, 0],
    ['when it is 30 seconds old is refreshed', 30_000, 200, 1],
  ])('%s', async (_what, ageMs, status, refreshes) => {
    testApp.intercept = service();
    const { id, cookie } = await testApp.createSession();
    const session = await readSession(id);
    await testApp.services.store.replace(session, { ...session.record, refreshedAt: Date.now() - ageMs });
    await get(cookie).expect(status);
    expect(tokenRequests(testApp)).toHaveLength(refreshes);
  });

  test('at an endpoint that always responds with a 401 causes at most one refresh every 30 seconds', async () => {
    testApp.intercept = service({ accepts: 'none' });
    const { cookie } = await testApp.createSession();
    for (let at = 0; at < 9; at += 1) {
      await get(cookie).expect(401, 'go away');
      testApp.advanceClock(5_000);
    }
    testApp.advanceClock(-45_000);
    expect(tokenRequests(testApp)).toHaveLength(2);
  });

  test('causes a 503 if it cannot be refreshed, even though it has not expired', async () => {
    testApp.intercept = service({ grants: () => null });
    const { id, cookie } = await testApp.createSession();
    expect((await get(cookie).expect(503)).body.code).toBe('token_endpoint_unavailable');
    expect(await grantOf(id)).toMatchObject({ accessToken: 'a-valid-token' });
  });
});

describe('a token response with', () => {
  test.each([
    ['another OAuth error', { error: 'invalid_client' }],
    ['a token that is not a valid header value', { access_token: 'a\r\nb' }],
    ['a token of another type', { access_token: 'a', token_type: 'DPoP' }],
  ])('%s keeps the session', async (_what, response) => {
    testApp.intercept = service({ grants: () => response });
    const { id, cookie } = await testApp.createSession(EXPIRED);
    const refused = await get(cookie).expect(503);
    expect(refused.body.code).toBe('token_endpoint_unavailable');
    expect(refused.headers['retry-after']).toMatch(/^\d+$/);
    expect(await grantOf(id)).toMatchObject({ refreshToken: 'a-refresh-token' });
  });
});

describe('a refresh', () => {
  test('is completed by a process that is shutting down, but that process starts no further refreshes', async () => {
    await using ending = await startServices();
    const refresh = holdRefresh('refreshed-1');
    const { id } = await testApp.createSession(EXPIRED);
    const later = await readSession((await testApp.createSession(EXPIRED)).id);
    const token = ending.tokens.accessToken(await readSession(id));
    await refresh.requested;
    const ended = ending.tokens[Symbol.asyncDispose]();
    await expect(ending.tokens.accessToken(later)).rejects.toMatchObject({ status: 503 });
    refresh.respond();
    await ended;
    expect(await token).toBe('refreshed-1');
    expect(await grantOf(id)).toMatchObject({ accessToken: 'refreshed-1' });
    expect(tokenRequests(testApp)).toHaveLength(1);
  });

  test('continues if its client disconnects, but the request is not forwarded', async () => {
    testApp.logged.length = 0;
    const refresh = holdRefresh('refreshed-1');
    const { id, cookie } = await testApp.createSession(EXPIRED);
    const disconnecting = new AbortController();
    const aborted = fetch(testApp.origin + PATH, { headers: { cookie }, signal: disconnecting.signal });
    await refresh.requested;
    disconnecting.abort();
    await expect(aborted).rejects.toThrow('aborted');
    await eventually(async () => testApp.logged.some((line) => line.includes('"cutOff":true')));
    refresh.respond();
    await eventually(async () => (await grantOf(id))?.accessToken === 'refreshed-1');
    await get(cookie).expect(200, 'Bearer refreshed-1'); // the aborted request would have been forwarded by now
    expect(testApp.serviceRequests).toHaveLength(2);
  });

  test('stores its grant in a session that was re-encrypted in the meantime', async () => {
    const refresh = holdRefresh('refreshed-1');
    const { id } = await testApp.createSession(EXPIRED);
    const session = await readSession(id);
    const token = testApp.services.tokens.accessToken(session);
    await refresh.requested;
    await testApp.services.store.replace(session, session.record);
    refresh.respond();
    expect(await token).toBe('refreshed-1');
    expect(await grantOf(id)).toMatchObject({ accessToken: 'refreshed-1' });
  });
});

/** Creates a token provider that uses the result of `change` in place of each lock. */
function providerWith(change: (lock: HeldLock) => HeldLock) {
  const { config, services } = testApp;
  const kept = { redis: services.redis, prefix: config.redisPrefix, idleSeconds: config.sessionIdleSeconds };
  const realLocks = createRefreshLocks(services.redis, config.redisPrefix);
  const locks: RefreshLocks = {
    async acquire(sessionId) {
      const reply = await realLocks.acquire(sessionId);
      return reply.state === 'held' ? { ...reply, lock: change(reply.lock) } : reply;
    },
  };
  const journal = createRefreshJournal({ ...kept, now: services.now });
  return createTokenProvider({ ...config, ...services, ...kept, locks, journal, metrics: null });
}

test.each<[string, Partial<HeldLock>]>([
  ['has become stale', { isFresh: () => false }],
  ['was lost before the journal entry', { setIfHeld: async () => false }],
])('a refresh whose lock %s waits for a fresh lock before its token request', async (_state, lost) => {
  testApp.intercept = service();
  const { id } = await testApp.createSession(EXPIRED);
  let acquired = 0;
  await using tokens = providerWith((lock) => {
    acquired += 1;
    return acquired === 1 ? { ...lock, ...lost } : lock;
  });
  expect(await tokens.accessToken(await readSession(id))).toBe('refreshed-1');
  expect(acquired).toBe(2);
  expect(tokenRequests(testApp)).toHaveLength(1);
});

test.each([
  ['failed refresh keeps its lock for a cool-down period', null, 'coolDown'],
  ['successful refresh releases its lock', { access_token: 'refreshed-1' }, 'release'],
])('a %s', async (_what, granted, expected) => {
  const finished: string[] = [];
  const record = (how: 'release' | 'coolDown', lock: HeldLock) => async () => {
    finished.push(how);
    await lock[how]();
  };
  await using tokens = providerWith((lock) => ({
    ...lock,
    release: record('release', lock),
    coolDown: record('coolDown', lock),
  }));
  testApp.intercept = service({ grants: () => granted });
  const { id } = await testApp.createSession(EXPIRED);
  await tokens.accessToken(await readSession(id)).catch(() => {}); // only the lock matters here
  await eventually(async () => finished.length > 0);
  expect(finished).toEqual([expected]);
});

test('a process refreshes at most 32 expired tokens at a time', async () => {
  let most = 0;
  const held: (() => void)[] = [];
  testApp.intercept = (req, res) => {
    if (req.url !== TOKEN_PATH) return Boolean(res.end('here you are'));
    held.push(() => sendJson(res, 200, { access_token: 'fresh' }));
    most = Math.max(most, held.length);
    return true;
  };
  const sessions = await Promise.all(Array.from({ length: 100 }, async () => testApp.createSession(EXPIRED)));
  let served = 0;
  const clients = sessions.map(async ({ cookie }) => {
    await eventually(async () => (await get(cookie)).status === 200); // on a busy machine, a request may not get a slot in time
    served += 1;
  });
  // Wait until every session holds its lock. Sessions without a token request are then waiting for a slot.
  const locks = sessions.map(({ id }) => sessionScopedKey('cloakroom:', 'refresh-lock', id));
  await eventually(async () => held.length >= 32 && (await testApp.redis.exists(...locks)) === locks.length);
  await eventually(async () => {
    for (const respond of held.splice(0)) respond();
    return served === 100;
  });
  await Promise.all(clients);
  expect(most).toBe(32);
});
