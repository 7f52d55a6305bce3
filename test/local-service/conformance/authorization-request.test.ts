import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { ACCEPTED, SHOWN, told, verdictOn } from '../../support/local-service/authorization-verdict.ts';
import {
  AUTHORIZATION,
  authorizationUrl,
  openBrowser,
  signInAndAllow,
} from '../../support/local-service/cookie-browser.ts';
import { CALLBACK, openBench } from '../../support/local-service/service-under-test.ts';
import type { Bench } from '../../support/local-service/service-under-test.ts';

let bench: Bench;
let service: Server;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start();
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

/** The verdict on a request that is in order but for this. */
const verdict = (overrides: Record<string, string | undefined>) =>
  verdictOn(service, authorizationUrl(overrides));

test('4.1 method and path: `GET /api/public/v1/authorization/oauth2/`', async () => {
  expect(AUTHORIZATION).toBe('/api/public/v1/authorization/oauth2/');
  expect(await verdictOn(service, authorizationUrl())).toEqual(ACCEPTED);
  for (const method of ['put', 'patch', 'delete'] as const) {
    expect((await request(service)[method](authorizationUrl())).status).toBe(405);
  }
  for (const path of ['oauth2', 'OAuth2/', 'oauth2//']) {
    expect((await request(service).get(authorizationUrl().replace('oauth2/', path))).status).toBe(404);
  }
});

test('4.1 browser redirect: works for any browser that an app redirects there', async () => {
  const crossSite = { referer: 'http://localhost:3000/', 'sec-fetch-site': 'cross-site' };
  const arrive = (cookie: string) =>
    request(service)
      .get(authorizationUrl())
      .set({ ...crossSite, 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document', cookie });
  expect((await arrive('')).text).toContain('type="password"');

  const browser = openBrowser(service);
  await signInAndAllow(browser);
  const sentAlong = await browser.jar.getCookieString(`http://127.0.0.1${AUTHORIZATION}`, {
    sameSiteContext: 'lax',
  });
  expect((await arrive(sentAlong)).text).toContain('value="allow"');
});

test('4.1 client_id: required; that of the registered app', async () => {
  expect(await verdict({ client_id: 'demo-app' })).toEqual(ACCEPTED);
  for (const client_id of [undefined, '', 'other-app', 'Demo-App', 'demo-app ']) {
    expect(await verdict({ client_id })).toEqual(SHOWN);
  }
});

test('4.1 redirect_uri: required; equal to a registered URL', async () => {
  expect(await verdict({ redirect_uri: CALLBACK })).toEqual(ACCEPTED);
  const others = ['/', '?a=b', '#part', '/../callback'].map((more) => CALLBACK + more);
  const foreign = ['https://evil.example/', CALLBACK.replace('http:', 'https:'), CALLBACK.toUpperCase()];
  for (const redirect_uri of [undefined, '', ...others, ...foreign]) {
    expect(await verdict({ redirect_uri })).toEqual(SHOWN);
  }
});

test('4.1 scope: required; case-sensitive scopes with spaces between', async () => {
  for (const scope of ['room:read', 'room:write room:read']) {
    expect(await verdict({ scope })).toEqual(ACCEPTED);
  }
  for (const scope of [undefined, '']) {
    expect(await verdict({ scope })).toEqual(told('invalid_request'));
  }
  for (const scope of ['Room:Read', 'room:read,room:write', 'room:read mural:read']) {
    expect(await verdict({ scope })).toEqual(told('invalid_scope'));
  }
});

test('4.1 state: optional; returned unchanged, whatever it is', async () => {
  const browser = openBrowser(service);
  for (const state of ['0', 'a b+c&d=e%20f#g?h/', '"><b>', 'ünïcödé ☂\n', 'x'.repeat(1_000)]) {
    const parameters = await signInAndAllow(browser, authorizationUrl({ state }));
    expect(parameters.getAll('state')).toEqual([state]);
  }
  expect((await signInAndAllow(browser, authorizationUrl({ state: undefined }))).has('code')).toBe(true);
});

test('4.1 response_type: required; `code` and nothing else', async () => {
  expect(await verdict({ response_type: 'code' })).toEqual(ACCEPTED);
  for (const response_type of [undefined, '']) {
    expect(await verdict({ response_type })).toEqual(told('invalid_request'));
  }
  for (const response_type of ['token', 'id_token', 'code token', 'Code']) {
    expect(await verdict({ response_type })).toEqual(told('unsupported_response_type'));
  }
});
