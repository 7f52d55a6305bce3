import { beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { useTestApp } from '../support/fixtures.ts';
import { send, statusesOf, statusesTo } from './request-text.ts';

let cookie: string;
const testApp = useTestApp();
beforeAll(async () => {
  testApp.intercept = (_req, res) => Boolean(res.end('{}'));
});
beforeEach(async () => {
  testApp.serviceRequests.length = 0;
  ({ cookie } = await testApp.createSession());
});

describe('a target that servers parse differently never reaches the service', () => {
  const V1 = '/api/public/v1';
  const AUTH = `${V1}/authorization`;
  const cases: [flaw: string, target: string, status: number][] = [
    ['CVE-2021-21321 fastify-reply-from: dot segments escape the prefix', `${V1}/../../secret`, 400],
    ['CVE-2021-21322 fastify-http-proxy: encoded dot segments escape the prefix', `${V1}/%2e%2e/secret`, 400],
    [
      'CVE-2025-66415 @fastify/reply-from: encoded slashes escape the prefix',
      `${V1}/a/..%2f..%2fsecret`,
      400,
    ],
    ['CVE-2026-48020 Traefik: a dot segment after the prefix reaches another route', `${V1}/..%2F`, 400],
    [
      'CVE-2021-41773 Apache httpd: partly and doubly encoded dots escape the root',
      `${V1}/.%%32%65/secret`,
      400,
    ],
    ['CVE-2019-9901 Envoy: paths are matched before normalisation', '/api/./public/v1/things', 400],
    ['CVE-2021-29492 Envoy: encoded slashes bypass a path rule', `${AUTH}%2Foauth2%5Ctoken`, 404],
    ['CVE-2026-3872 Keycloak: “..;” is a dot segment only upstream', `${V1}/..;/secret`, 400],
    ['CVE-2021-32779 Envoy: a fragment hides the end of the path', `${V1}/secret#/things`, 400],
    ['CVE-2023-45539 HAProxy: # is accepted in a path', '/api/secret#/api/public/v1/', 400],
    ['CVE-2026-41059 oauth2-proxy: a fragment bypasses a path rule', `${AUTH}/oauth2/#/x`, 400],
    ['CVE-2025-54576 oauth2-proxy: a path rule matches the query', `${AUTH}/oauth2?${V1}/things`, 404],
    ['CVE-2022-35949 undici: a double slash selects another host', '/api//127.0.0.1:1/', 400],
    ['fast-proxy#42 fast-proxy: an absolute target selects another host', `http://127.0.0.1:1${V1}/`, 400],
    ['CVE-2023-25690 Apache httpd: an encoded line break splits the request', `${V1}/a%0d%0aX:%20y`, 400],
    ['CVE-2018-12116 Node.js: non-ASCII characters become line breaks', `${V1}/\u010d\u010aX`, 400],
  ];

  test.each(cases)('%s', async (_flaw, target, status) => {
    expect(await statusesTo(testApp, { target, cookie })).toEqual([status]);
    expect(testApp.serviceRequests).toEqual([]);
  });
});

test('CVE-2026-15074 @fastify/static: encoded traversal bypasses folder access rules', async () => {
  for (const path of ['..%2f..%2f', '%2e%2e/', '..%5c', '0123456789abcdef/..%2f..%2f', '..%2f']) {
    const response = await send(testApp, { target: `/assets/${path}package.json`, cookie });
    expect(statusesOf(response)[0]).toBeGreaterThanOrEqual(400);
    expect(response).not.toContain('"dependencies"');
  }
});

test('CVE-2024-21536 http-proxy-middleware: a crafted path crashes the process', async () => {
  expect(await statusesTo(testApp, { target: '//x@x', cookie })).toEqual([404]);
  expect(await statusesTo(testApp, { target: '/api/public/v1/%', cookie })).toEqual([400]);
  expect((await statusesTo(testApp, { target: '/workspaces/%', cookie }))[0]).toBeLessThan(500);
  expect(await statusesTo(testApp, { target: '/healthz' })).toEqual([200]);
});

test('CVE-2022-24999 qs: __proto__ in a query hangs the process', async () => {
  const hostile = 'return_to[__proto__]=a&return_to[__proto__]&return_to[length]=100000000&__proto__[x]=1';
  expect(await statusesTo(testApp, { target: `/auth/login?${hostile}`, cookie })).toEqual([302]);
  expect(({} as { x?: unknown }).x).toBeUndefined();
});
