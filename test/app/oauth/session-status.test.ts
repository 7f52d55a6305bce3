import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { sessionKey } from '../../../src/session/store.ts';
import { API_PATH } from '../../support/constants.ts';
import { useTestApp } from '../../support/fixtures.ts';

const SAME_SITE = { 'sec-fetch-site': 'same-origin' };
const IDLE_SECONDS = 3_600;

const testApp = useTestApp();
let id: string;
let cookie: string;
beforeEach(async () => {
  ({ id, cookie } = await testApp.createSession());
});
afterEach(() => {
  testApp.intercept = () => false;
});

const getStatus = () => request(testApp.origin).get('/auth/session').set('cookie', cookie);
const extend = (headers: Record<string, string> = SAME_SITE) =>
  request(testApp.origin)
    .post('/auth/session')
    .set({ cookie, ...headers });
const keyInRedis = () => sessionKey(testApp.config.redisPrefix, id);
const expireIn50Seconds = async () => testApp.redis.expire(keyInRedis(), 50);

describe('GET /auth/session', () => {
  test('reports that a client without a session is not signed in', async () => {
    await request(testApp.origin).get('/auth/session').expect(200, { signedIn: false });
  });

  test('reports when the session expires, without including a token or extending the session', async () => {
    await expireIn50Seconds();
    const response = await getStatus().expect(200);
    expect(response.headers['cache-control']).toBe('no-store');
    const { createdAt } = (await testApp.services.store.peek(id))?.session.record ?? { createdAt: NaN };
    expect(response.body).toEqual({
      signedIn: true,
      expiresAt: new Date(createdAt + testApp.config.sessionMaxSeconds * 1_000).toISOString(),
      idleExpiresAt: expect.stringMatching(/Z$/),
      scopes: ['room:read'],
    });
    const left = Date.parse(response.body.idleExpiresAt) - Date.now();
    expect(left).toBeGreaterThan(40_000);
    expect(left).toBeLessThanOrEqual(50_500);
    expect(await testApp.redis.ttl(keyInRedis())).toBeLessThanOrEqual(50);
  });

  test('has a Date header from the same clock as the times in its body', async () => {
    testApp.advanceClock(600_000);
    const { headers, body } = await getStatus();
    const left = Date.parse(body.idleExpiresAt) - Date.parse(headers['date'] ?? '');
    expect(Math.abs(left - IDLE_SECONDS * 1_000)).toBeLessThan(10_000);
    testApp.advanceClock(-600_000);
  });
});

describe('POST /auth/session', () => {
  test('restarts the idle timeout but not the maximum age, and responds like GET', async () => {
    await expireIn50Seconds();
    const before = await getStatus();
    const extended = await extend().expect(200);
    expect(await testApp.redis.ttl(keyInRedis())).toBeGreaterThan(IDLE_SECONDS - 10);
    expect(extended.headers['cache-control']).toBe('no-store');

    const { idleExpiresAt, ...rest } = extended.body;
    const { body } = await getStatus();
    expect(body).toEqual({ ...rest, idleExpiresAt: expect.any(String) });
    expect(body.expiresAt).toBe(before.body.expiresAt);
    expect(Math.abs(Date.parse(body.idleExpiresAt) - Date.parse(idleExpiresAt))).toBeLessThan(5_000);
  });

  test('reports that a client without a session is not signed in and does not create a session', async () => {
    await testApp.services.store.end(id);
    await extend().expect(200, { signedIn: false });
    await request(testApp.origin).post('/auth/session').set(SAME_SITE).expect(200, { signedIn: false });
    expect(await testApp.services.store.peek(id)).toBeNull();
  });

  test.each([{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, { origin: 'null' }, {}])(
    'responds to %j with a 403 problem and does not extend the session',
    async (headers) => {
      await expireIn50Seconds();
      const response = await extend(headers).set('accept', 'text/html').expect(403);
      expect(response.headers['content-type']).toBe('application/problem+json');
      expect(JSON.parse(response.text)).toMatchObject({ code: 'cross_site_request', status: 403 });
      expect(await testApp.redis.ttl(keyInRedis())).toBeLessThanOrEqual(50);
    },
  );

  test('accepts a non-browser client that sends X-Requested-With', async () => {
    await extend({ 'x-requested-with': 'fetch' }).expect(200);
  });
});

test.each([API_PATH, '/'])(
  'a request for %s restarts the idle timeout with one Redis command',
  async (path) => {
    testApp.intercept = (_req, res) => Boolean(res.end());
    await expireIn50Seconds();
    await testApp.redis.config('RESETSTAT');
    await request(testApp.origin).get(path).set('cookie', cookie);
    const commands = [
      ...(await testApp.redis.info('commandstats')).matchAll(/cmdstat_([\w|]+):calls=(\d+)/g),
    ];
    const sent = commands.map(([, name, calls]) => `${name} ${calls}`);
    expect(sent.filter((line) => !OF_THE_TEST.test(line))).toEqual(['getex 1']);
    expect(await testApp.redis.ttl(keyInRedis())).toBeGreaterThan(IDLE_SECONDS - 10);
  },
);

/** Commands that the test itself sends, and commands that open and check connections. */
const OF_THE_TEST = /^(?:config|info|ttl|expire|client|ping|command)/;
