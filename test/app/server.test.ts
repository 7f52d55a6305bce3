import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, describe, expect, jest, test } from '@jest/globals';
import request from 'supertest';
import { WORKSPACES_PATH } from '../support/constants.ts';
import { useTestApp } from '../support/fixtures.ts';
import { startStopwatch } from '../support/stopwatch.ts';
import { startTestApp } from '../support/test-app.ts';
import { sendRaw } from '../support/raw-client.ts';

describe('the page', () => {
  const testApp = useTestApp();
  test('at / redirects signed-in users to the workspaces and offers sign-in to other users', async () => {
    const { cookie } = await testApp.createSession();
    const signedIn = await request(testApp.origin).get('/').set('cookie', cookie).expect(303);
    expect(signedIn.headers['location']).toBe('/workspaces');
    const signedOut = await request(testApp.origin).get('/').expect(200);
    expect(signedOut.text.match(/href="\/auth\/login"/g)).toHaveLength(1);
  });
});

describe('over HTTPS', () => {
  test('the cookie is Secure and has its prefix, and sign-in works even if the last hop is plain HTTP', async () => {
    await using testApp = await startTestApp({
      PUBLIC_URL: 'https://app.example',
      COOKIE_SAMESITE: 'strict',
    });
    const login = await request(testApp.running.url).get('/auth/login').expect(302);
    const [binding = ''] = login.headers['set-cookie'] as unknown as string[];
    expect(binding).toMatch(
      /^__Host-Http-cloakroom-signin-[\w-]+=[\w-]+; Max-Age=600; Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    const location = new URL(login.headers['location'] ?? '');
    expect(location.searchParams.get('redirect_uri')).toBe('https://app.example/auth/callback');

    testApp.intercept = (_req, res) =>
      Boolean(res.end('{"access_token":"a","expires_in":900,"refresh_token":"r"}'));
    const done = await request(testApp.running.url)
      .get(`/auth/callback?code=x&state=${location.searchParams.get('state')}`)
      .set('cookie', binding.split(';', 1)[0] ?? '');
    // Browsers do not send a strict cookie on a redirect from another site, so an intermediate page redirects the browser.
    expect(done.status).toBe(200);
    expect(done.headers['clear-site-data']).toBe('"cache"');
    expect(done.text).toContain('<meta http-equiv="refresh" content="0;url=/workspaces">');
    expect(done.headers['strict-transport-security']).toMatch(/^max-age=/);
    const [cookie = ''] = done.headers['set-cookie'] as unknown as string[];
    expect(cookie).toMatch(/^__Host-Http-cloakroom=s%3A[^;]+; Path=\/; HttpOnly; Secure; SameSite=Strict$/);
    const session = await request(testApp.running.url)
      .get('/auth/session')
      .set('cookie', cookie.split(';', 1)[0] ?? '');
    expect(session.body.signedIn).toBe(true);
  });
});

describe('during a drain, the server', () => {
  test('refuses a new request on an open connection with a 503 and closes the connection', async () => {
    await using testApp = await startTestApp();
    const socket = connect(testApp.config.port, '127.0.0.1').setEncoding('utf8');
    const send = async () => {
      socket.write('GET /api/public/v1/workspaces HTTP/1.1\r\nHost: x\r\n\r\n');
      return String(await once(socket, 'data'));
    };
    expect(await send()).toMatch(/^HTTP\/1.1 401 /);
    const drained = testApp.running.drain(5_000);
    expect(await send()).toMatch(/^HTTP\/1.1 503 [\s\S]*connection: close[\s\S]*"draining"/i);
    expect(await drained).toBe(true);
  });

  /** Checks readiness three times and advances the clock in between without affecting timers. */
  const checkEvery = async (ms: number, check: () => Promise<string>) => {
    const now = performance.now.bind(performance);
    const clock = jest.spyOn(performance, 'now');
    for (let times = 1; times <= 3; times += 1) {
      clock.mockImplementation(() => now() + times * ms);
      expect(await check()).toMatch(/^HTTP\/1.1 200 /);
    }
  };
  afterEach(() => {
    jest.restoreAllMocks();
  });

  test('serves requests from a load balancer until its readiness check has failed', async () => {
    await using testApp = await startTestApp({ TRUST_PROXY: '1' });
    const get = async (path: string) =>
      sendRaw(testApp, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await checkEvery(5_000, async () => get('/readyz'));
    using watch = startStopwatch();
    const drained = testApp.running.drain(60_000);
    expect(await get(WORKSPACES_PATH)).toMatch(/^HTTP\/1.1 401 /);
    expect(await get('/readyz')).toMatch(/^HTTP\/1.1 503 [\s\S]*"draining"/);
    expect(await drained).toBe(true);
    expect(watch.ms()).toBeLessThan(10_000);
    await expect(get('/readyz')).rejects.toThrow('ECONNREFUSED');
  });

  test('does not mistake a client behind a proxy for a load balancer', async () => {
    await using testApp = await startTestApp({ TRUST_PROXY: '1' });
    const get = async (path: string) =>
      sendRaw(
        testApp,
        `GET ${path} HTTP/1.1\r\nHost: x\r\nX-Forwarded-For: 192.0.2.1\r\nConnection: close\r\n\r\n`,
      );
    await checkEvery(5_000, async () => get('/readyz'));
    const drained = testApp.running.drain(60_000);
    await expect(get('/healthz')).rejects.toThrow('ECONNREFUSED');
    expect(await drained).toBe(true);
  });
});
