import { beforeEach, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { sessionKey } from '../../../src/session/store.ts';
import { useTestApp } from '../../support/fixtures.ts';

const SAME_SITE = { 'sec-fetch-site': 'same-origin' };
const IDLE_SECONDS = 3_600;

const testApp = useTestApp();
let id: string;
let cookie: string;
beforeEach(async () => {
  ({ id, cookie } = await testApp.createSession());
});

const extend = (headers: Record<string, string> = SAME_SITE) =>
  request(testApp.origin)
    .post('/auth/session')
    .set({ cookie, ...headers });
const keyInRedis = () => sessionKey(testApp.config.redisPrefix, id);

describe('GET /auth/session', () => {
  test('says that a client without a session is not signed in', async () => {
    await request(testApp.origin).get('/auth/session').expect(200, { signedIn: false });
  });

  test('says until when the session lasts, without a token and without extending it', async () => {
    await testApp.redis.expire(keyInRedis(), 50);
    const response = await request(testApp.origin).get('/auth/session').set('cookie', cookie).expect(200);
    expect(response.headers['cache-control']).toBe('no-store');
    expect(response.body).toEqual({
      signedIn: true,
      expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      idleExpiresAt: expect.stringMatching(/Z$/),
      scopes: ['room:read'],
    });
    const left = Date.parse(response.body.idleExpiresAt) - Date.now();
    expect(left).toBeGreaterThan(40_000);
    expect(left).toBeLessThanOrEqual(50_500);
    expect(await testApp.redis.ttl(keyInRedis())).toBeLessThanOrEqual(50);
  });
});

describe('POST /auth/session', () => {
  test('restarts the idle time and responds as GET does then', async () => {
    await testApp.redis.expire(keyInRedis(), 50);
    const extended = await extend().expect(200);
    expect(await testApp.redis.ttl(keyInRedis())).toBeGreaterThan(IDLE_SECONDS - 10);
    expect(extended.headers['cache-control']).toBe('no-store');

    const status = await request(testApp.origin).get('/auth/session').set('cookie', cookie);
    const { idleExpiresAt, ...rest } = extended.body;
    expect(status.body).toEqual({ ...rest, idleExpiresAt: expect.any(String) });
    expect(Math.abs(Date.parse(status.body.idleExpiresAt) - Date.parse(idleExpiresAt))).toBeLessThan(5_000);
  });

  test('does not change when the session is too old', async () => {
    const before = await request(testApp.origin).get('/auth/session').set('cookie', cookie);
    const after = await extend();
    expect(after.body.expiresAt).toBe(before.body.expiresAt);
  });

  test('says that a client without a session is not signed in, and creates no session', async () => {
    await testApp.services.store.end(id);
    await extend().expect(200, { signedIn: false });
    await request(testApp.origin).post('/auth/session').set(SAME_SITE).expect(200, { signedIn: false });
    expect(await testApp.services.store.peek(id)).toBeNull();
  });

  test.each([{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, { origin: 'null' }, {}])(
    'is a 403 problem with %j, and extends nothing',
    async (headers) => {
      await testApp.redis.expire(keyInRedis(), 50);
      const response = await extend(headers).set('accept', 'text/html').expect(403);
      expect(response.headers['content-type']).toBe('application/problem+json');
      expect(JSON.parse(response.text)).toMatchObject({ code: 'cross_site_request', status: 403 });
      expect(await testApp.redis.ttl(keyInRedis())).toBeLessThanOrEqual(50);
    },
  );

  test('requires X-Requested-With of a client that is no browser', async () => {
    await extend({ 'x-requested-with': 'fetch' }).expect(200);
  });
});

test('the Date header and the times in the body are of the same clock', async () => {
  testApp.advance(600_000);
  const { headers, body } = await request(testApp.origin).get('/auth/session').set('cookie', cookie);
  const left = Date.parse(body.idleExpiresAt) - Date.parse(headers['date'] ?? '');
  expect(Math.abs(left - IDLE_SECONDS * 1_000)).toBeLessThan(10_000);
  testApp.advance(-600_000);
});
