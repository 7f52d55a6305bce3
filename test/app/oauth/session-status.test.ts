import { beforeEach, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { sessionKey } from '../../../src/session/store.ts';
import { useTestApp } from '../../support/fixtures.ts';
import { startTestApp } from '../../support/test-app.ts';

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
  test('says so where nobody is signed in', async () => {
    await request(testApp.origin).get('/auth/session').expect(200, { signedIn: false });
  });

  test('says until when, without a token and without extending it', async () => {
    await testApp.redis.expire(keyInRedis(), 50);
    const answer = await request(testApp.origin).get('/auth/session').set('cookie', cookie).expect(200);
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.body).toEqual({
      signedIn: true,
      expiresAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      idleExpiresAt: expect.stringMatching(/Z$/),
      scopes: ['room:read'],
    });
    const left = Date.parse(answer.body.idleExpiresAt) - Date.now();
    expect(left).toBeGreaterThan(40_000);
    expect(left).toBeLessThanOrEqual(50_500);
    expect(await testApp.redis.ttl(keyInRedis())).toBeLessThanOrEqual(50);
  });
});

describe('POST /auth/session', () => {
  test('begins the idle time anew and answers what GET does then', async () => {
    await testApp.redis.expire(keyInRedis(), 50);
    const extended = await extend().expect(200);
    expect(await testApp.redis.ttl(keyInRedis())).toBeGreaterThan(IDLE_SECONDS - 10);
    expect(extended.headers['cache-control']).toBe('no-store');

    const asked = await request(testApp.origin).get('/auth/session').set('cookie', cookie);
    const { idleExpiresAt, ...rest } = extended.body;
    expect(asked.body).toEqual({ ...rest, idleExpiresAt: expect.any(String) });
    expect(Math.abs(Date.parse(asked.body.idleExpiresAt) - Date.parse(idleExpiresAt))).toBeLessThan(5_000);
  });

  test('leaves the age of a session what it is', async () => {
    const before = await request(testApp.origin).get('/auth/session').set('cookie', cookie);
    const after = await extend();
    expect(after.body.expiresAt).toBe(before.body.expiresAt);
  });

  test('says so where nobody is signed in, and makes no session', async () => {
    await testApp.services.store.end(id);
    await extend().expect(200, { signedIn: false });
    await request(testApp.origin).post('/auth/session').set(SAME_SITE).expect(200, { signedIn: false });
    expect(await testApp.services.store.peek(id)).toBeNull();
  });

  test.each([{ 'sec-fetch-site': 'cross-site' }, { origin: 'https://evil.example' }, { origin: 'null' }, {}])(
    'is a 403 problem with %j, and extends nothing',
    async (headers) => {
      await testApp.redis.expire(keyInRedis(), 50);
      const answer = await extend(headers).set('accept', 'text/html').expect(403);
      expect(answer.headers['content-type']).toBe('application/problem+json');
      expect(JSON.parse(answer.text)).toMatchObject({ code: 'cross_site_request', status: 403 });
      expect(await testApp.redis.ttl(keyInRedis())).toBeLessThanOrEqual(50);
    },
  );

  test('needs X-Requested-With of a client that is no browser', async () => {
    await extend({ 'x-requested-with': 'fetch' }).expect(200);
  });

  test('sends a cookie of an older session key again, signed with the first', async () => {
    const key = Buffer.alloc(32, 7).toString('base64url');
    await using rotated = await startTestApp({
      SESSION_KEYS: `${key},${testApp.config.sessionKeys[0]?.toString('base64url')}`,
    });
    const entered = await rotated.createSession();
    const old = testApp.services.cookie.write(entered.id).split(';', 1)[0] ?? '';
    const answer = await request(rotated.origin)
      .post('/auth/session')
      .set({ ...SAME_SITE, cookie: old });
    expect(answer.headers['set-cookie']).toEqual([rotated.services.cookie.write(entered.id)]);
  });

  test('is a 503 problem while Redis is away, and keeps the cookie', async () => {
    await using broken = await startTestApp();
    const entered = await broken.createSession();
    process.kill(broken.privateRedis.pid, 'SIGSTOP');
    try {
      const answer = await request(broken.origin)
        .post('/auth/session')
        .set({ ...SAME_SITE, cookie: entered.cookie, accept: 'text/html' })
        .expect(503);
      expect(JSON.parse(answer.text)).toMatchObject({ code: 'session_store_unavailable' });
      expect(answer.headers['set-cookie']).toBeUndefined();
    } finally {
      process.kill(broken.privateRedis.pid, 'SIGCONT');
    }
  });
});

test('The answer’s Date is of the clock that its times are of', async () => {
  testApp.advance(600_000);
  const { headers, body } = await request(testApp.origin).get('/auth/session').set('cookie', cookie);
  const left = Date.parse(body.idleExpiresAt) - Date.parse(headers['date'] ?? '');
  expect(Math.abs(left - IDLE_SECONDS * 1_000)).toBeLessThan(10_000);
  testApp.advance(-600_000);
});
