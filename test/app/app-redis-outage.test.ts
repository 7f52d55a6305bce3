import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { Browser } from '../support/browser.ts';
import { WORKSPACES_PATH } from '../support/constants.ts';
import { useTestApp } from '../support/fixtures.ts';
import { eventually } from '../support/eventually.ts';
import { startStopwatch } from '../support/stopwatch.ts';

const SAME_SITE = { 'sec-fetch-site': 'same-origin' };

const testApp = useTestApp({ SERVICE_TIMEOUT_SECONDS: '1' });
let id: string;
let cookie: string;
beforeEach(async () => {
  // The watchdog may have closed the connection in the previous test, so wait until Cloakroom has reconnected.
  await eventually(async () => (await app().get('/readyz')).status === 200);
  ({ id, cookie } = await testApp.createSession());
});
afterEach(() => {
  testApp.intercept = () => false;
});

const app = () => request(testApp.origin);

/** Resolves with the response, or rejects if the response takes 2 s or longer. */
async function within2Seconds(sent: request.Test): Promise<request.Response> {
  using watch = startStopwatch();
  const response = await sent;
  expect(watch.ms()).toBeLessThan(2_000);
  return response;
}

describe('while Redis hangs', () => {
  beforeEach(() => void process.kill(testApp.privateRedis.pid, 'SIGSTOP'));
  afterEach(() => void process.kill(testApp.privateRedis.pid, 'SIGCONT'));

  test('an API request gets a 503 problem that does not clear the session cookie', async () => {
    const response = await within2Seconds(app().get(WORKSPACES_PATH).set('cookie', cookie));
    expect(response.body).toMatchObject({ status: 503, code: 'session_store_unavailable' });
    expect(response.headers['retry-after']).toMatch(/^\d+$/);
    expect(response.headers['set-cookie']).toBeUndefined();
    const [, sessionMs] = /^session;dur=([\d.]+)/.exec(response.headers['server-timing'] ?? '') ?? [];
    expect(Number(sessionMs)).toBeGreaterThan(1_400); // the time spent waiting for Redis
  });

  test('the landing page is replaced by a 503 page that offers a retry', async () => {
    const response = await within2Seconds(app().get('/').set({ cookie, accept: 'text/html' }));
    expect(response.status).toBe(503);
    expect(response.headers['retry-after']).toMatch(/^\d+$/);
    expect(response.headers['content-type']).toMatch(/^text\/html/);
    expect(response.text).toContain('Try again');
    expect(response.headers['set-cookie']).toBeUndefined();
  });

  test('a request to extend the session gets a 503 problem that does not clear the cookie', async () => {
    const headers = { ...SAME_SITE, cookie, accept: 'text/html' };
    const response = await within2Seconds(app().post('/auth/session').set(headers));
    expect(response.status).toBe(503);
    expect(JSON.parse(response.text)).toMatchObject({ code: 'session_store_unavailable' });
    expect(response.headers['set-cookie']).toBeUndefined();
  });

  test('a request without a cookie is served as usual', async () => {
    await within2Seconds(app().get('/').expect(200));
    await within2Seconds(app().get('/auth/session').expect(200));
    expect((await within2Seconds(app().get(WORKSPACES_PATH))).body.code).toBe('sign_in_required');
  });
});

test('while Redis is full, signing out still ends the session', async () => {
  await testApp.redis.config('SET', 'maxmemory', '1');
  const response = await app()
    .post('/auth/logout')
    .set({ ...SAME_SITE, cookie });
  await testApp.redis.config('SET', 'maxmemory', '0');
  expect(response.status).toBe(303);
  expect(await testApp.services.store.read(id)).toBeNull();
});

test('a sign-in that fails because Redis is full gets a 503 page and keeps the previous session', async () => {
  const { browser } = await testApp.signIn();
  const before = await browser.cookie(testApp.origin, 'cloakroom');
  const consent = await browser.open(`${testApp.origin}/auth/login`);
  const back = (await browser.press(consent, 'Allow')).headers.get('location') ?? '';
  // The local service uses the same Redis, so do not fill it before the token request.
  testApp.intercept = (req, res) => {
    if (req.url?.endsWith('/token') !== true) return false;
    void testApp.redis
      .config('SET', 'maxmemory', '1')
      .then(() => res.end('{"access_token":"a","expires_in":900}'));
    return true;
  };
  const response = await browser.fetch(back);
  await testApp.redis.config('SET', 'maxmemory', '0');
  expect(response.status).toBe(503);
  expect(await browser.cookie(testApp.origin, 'cloakroom')).toBe(before);
  testApp.intercept = () => false;
  expect((await browser.open(`${testApp.origin}/workspaces`)).url.pathname).toBe('/workspaces');
});

test('while the service is unreachable, sign-in still redirects to it', async () => {
  testApp.intercept = (req) => Boolean(req.socket.destroy());
  const page = await new Browser().fetch(`${testApp.origin}/auth/login`);
  expect(page.status).toBe(302);
});
