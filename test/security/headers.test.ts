import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { API_PATH } from '../support/constants.ts';
import { useTestApp } from '../support/fixtures.ts';
import { requestText, send, statusesTo } from './request-text.ts';

let cookie: string;
const testApp = useTestApp({ TRUST_PROXY: '1' });
beforeAll(async () => {
  testApp.intercept = (_req, res) => Boolean(res.end('{}'));
});
beforeEach(async () => {
  testApp.serviceRequests.length = 0;
  ({ cookie } = await testApp.createSession());
});

/** Sends a request with these header fields. Returns the header fields that the service received. */
async function headersAtService(...fields: string[]) {
  expect(await statusesTo(testApp, { cookie, fields })).toEqual([200]);
  expect(testApp.serviceRequests).toHaveLength(1);
  return testApp.serviceRequests[0]?.headers ?? {};
}

describe('header fields listed in Connection', () => {
  test('CVE-2026-33805 @fastify/reply-from: Connection removes headers that the proxy adds', async () => {
    const headers = await headersAtService('Connection: close, authorization');
    expect(headers.authorization).toBe('Bearer a-valid-token');
  });

  test('CVE-2024-45410 Traefik: Connection removes headers that identify the proxy', async () => {
    const headers = await headersAtService('Connection: close, Via, X-Request-Id', 'X-Request-Id: mine');
    expect(headers['via']).toBe('1.1 cloakroom');
    expect(headers['x-request-id']).toMatch(/^[\da-f-]{36}$/);
  });

  test('CVE-2022-31813 Apache httpd: Connection removes headers that a check reads', async () => {
    const fields = ['Origin: http://hostile.test', 'Connection: close, origin, cookie'];
    expect(await statusesTo(testApp, { method: 'POST', cookie, fields })).toEqual([403]);
    expect(testApp.serviceRequests).toEqual([]);
  });

  test('fastify-reply-from#449 fastify-reply-from: fields listed in Connection are forwarded', async () => {
    const headers = await headersAtService('Connection: close, X-Private', 'X-Private: 1', 'X-Other: 2');
    expect(headers['x-private']).toBeUndefined();
    expect(headers['x-other']).toBe('2');
  });

  test('CVE-2026-1527 undici: Upgrade is not validated', async () => {
    const headers = await headersAtService('Connection: close', 'Upgrade: a, b/1');
    expect(headers.upgrade).toBeUndefined();
    expect(headers.connection).toBe('keep-alive');
  });
});

describe('headers that identify a client', () => {
  const cases: [flaw: string, field: string][] = [
    ['CVE-2025-64484 oauth2-proxy: X_Forwarded_User bypasses removal', 'X_Forwarded_User: admin'],
    ['GHSA-5m6w-wvh7-57vm Traefik: X_Forwarded_Proto bypasses removal', 'X_Forwarded_Proto: https'],
    ['GHSA-x677-9fxg-v5c5 Traefik: dots in a header name bypass removal', 'X.Forwarded_For: 10.0.0.1'],
    ['CVE-2026-35051 Traefik: X-Forwarded-Prefix is forwarded', 'X-Forwarded-Prefix: /admin'],
    ['CVE-2017-6413 mod_auth_openidc: a client sets the identity headers', 'Authorization: Bearer x'],
  ];

  test.each(cases)('%s', async (_flaw, field) => {
    const clean = await headersAtService();
    testApp.serviceRequests.length = 0;
    const headers = await headersAtService(field);
    expect(Object.keys(headers)).toEqual(Object.keys(clean));
    expect(headers.authorization).toBe('Bearer a-valid-token');
  });

  test('CVE-2026-16732 fastify: a client behind a trusted hop spoofs its address', async () => {
    testApp.logged.length = 0;
    await headersAtService('X-Forwarded-For: 6.6.6.6, 10.0.0.9');
    expect(testApp.logged.join('')).toMatch(/"client":"10\.0\.0\.9"/);
    expect(testApp.logged.join('')).not.toContain('6.6.6.6');
  });
});

describe('headers that contain a host or path', () => {
  test('CVE-2026-40575 oauth2-proxy: a header overrides the checked path', async () => {
    for (const name of ['X-Forwarded-Uri', 'X-Original-URL', 'X-Rewrite-Url']) {
      const fields = [`${name}: ${API_PATH}`];
      expect(await statusesTo(testApp, { target: '/api/secret', cookie, fields })).toEqual([404]);
      testApp.serviceRequests.length = 0;
      expect((await headersAtService(`${name}: /api/secret`))[name.toLowerCase()]).toBeUndefined();
    }
  });

  test('CVE-2026-55602 http-proxy-middleware: Host selects the upstream', async () => {
    const text = requestText({ cookie }).replace('Host: x', 'Host: evillocalhost:3000');
    expect(await statusesTo(testApp, text)).toEqual([200]);
    expect(testApp.serviceRequests[0]?.headers.host).toBe(new URL(testApp.serviceOrigin).host);
  });

  test('CVE-2026-3635 fastify: X-Forwarded-Host and -Proto change the app’s URLs', async () => {
    const fields = ['X-Forwarded-Host: hostile.test', 'X-Forwarded-Proto: gopher', 'Forwarded: host=hostile'];
    const response = await send(testApp, { target: '/auth/login', fields });
    expect(response).not.toMatch(/hostile|gopher/);
    expect(response).toContain(`redirect_uri=${encodeURIComponent(`${testApp.origin}/auth/callback`)}`);
  });
});

describe('a request without a session', () => {
  test('CVE-2025-29927 Next.js: an internal header bypasses the session check', async () => {
    const fields = ['x-middleware-subrequest: middleware:middleware', 'Authorization: Bearer a-valid-token'];
    expect(await statusesTo(testApp, { fields })).toEqual([401]);
    expect(testApp.serviceRequests).toEqual([]);
  });

  test('CVE-2026-34457 oauth2-proxy: a health-check User-Agent bypasses sign-in', async () => {
    for (const agent of ['GoogleHC/1.0', 'kube-probe/1.30', 'ELB-HealthChecker/2.0'])
      expect(await statusesTo(testApp, { fields: [`User-Agent: ${agent}`] })).toEqual([401]);
    expect(testApp.serviceRequests).toEqual([]);
  });
});
