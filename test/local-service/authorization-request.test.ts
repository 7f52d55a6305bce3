import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { CLIENT_ID } from '../support/constants.ts';
import { told, verdictOn } from '../support/local-service/authorization-verdict.ts';
import { AUTHORIZATION, authorizationUrl, locationOf } from '../support/local-service/cookie-browser.ts';
import { callRaw } from '../support/local-service/raw-call.ts';
import { CALLBACK, openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import { CHALLENGE, PKCE } from '../support/local-service/token-calls.ts';

let bench: Bench;
let service: Server;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start({ redirectUris: [CALLBACK, `${CALLBACK}?tenant=a%20b`] });
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const get = (url: string) => request(service).get(url);

describe('a request that names no trusted place to return to is shown, not redirected', () => {
  const cases: [string, string][] = [
    ['a repeated client', `${authorizationUrl()}&client_id=${CLIENT_ID}`],
    ['a repeated redirect URI', `${authorizationUrl()}&redirect_uri=https://evil.example/`],
  ];
  test.each(cases)('%s', async (_name, url) => {
    const res = await get(url);
    expect(res.status).toBe(400);
    expect(res.get('location')).toBeUndefined();
    expect(res.text).toContain('faulty request');
  });
});

// What no row of the interface asks about: test/local-service/conformance/authorization-request.test.ts has those.
describe('any other fault is told to the app', () => {
  const cases: [string, string, string][] = [
    ['two spaces between scopes', authorizationUrl({ scope: 'room:read  room:write' }), 'invalid_scope'],
    ['a repeated parameter', `${authorizationUrl()}&scope=room:read`, 'invalid_request'],
    [
      'a plain challenge',
      authorizationUrl({ code_challenge: CHALLENGE, code_challenge_method: 'plain' }),
      'invalid_request',
    ],
    ['a challenge without a method', authorizationUrl({ code_challenge: CHALLENGE }), 'invalid_request'],
    ['a method without a challenge', authorizationUrl({ code_challenge_method: 'S256' }), 'invalid_request'],
    [
      'a method in another case',
      authorizationUrl({ code_challenge: CHALLENGE, code_challenge_method: 's256' }),
      'invalid_request',
    ],
    ['a short challenge', authorizationUrl({ ...PKCE, code_challenge: 'short' }), 'invalid_request'],
    ['a padded challenge', authorizationUrl({ ...PKCE, code_challenge: `${CHALLENGE}=` }), 'invalid_request'],
  ];
  test.each(cases)('%s', async (_name, url, error) => {
    expect(await verdictOn(service, url)).toEqual(told(error));
  });
});

test('no state is made up where none was sent', async () => {
  const res = await get(authorizationUrl({ state: undefined, scope: undefined }));
  expect(new URL(locationOf(res)).searchParams.has('state')).toBe(false);
});

test.each(['{"a":1}', 'a%zzb', "'<>|^", '%'])(
  'the state %s comes back without another encoding',
  async (state) => {
    const address = `${authorizationUrl({ state: undefined, scope: undefined })}&state=${state}`;
    const answer = await callRaw(service, `GET ${address}`);
    expect(answer.get('location')?.split('&state=')[1]).toBe(state);
  },
);

test('of two states neither is returned', async () => {
  const location = new URL(locationOf(await get(`${authorizationUrl()}&state=other`)));
  expect(location.searchParams.get('error')).toBe('invalid_request');
  expect(location.searchParams.has('state')).toBe(false);
});

test('a registered redirect URI keeps its own query', async () => {
  const res = await get(authorizationUrl({ redirect_uri: `${CALLBACK}?tenant=a%20b`, scope: undefined }));
  const own = `${CALLBACK}?tenant=a%20b&`;
  expect(locationOf(res).slice(0, own.length)).toBe(own);
  expect(new URL(locationOf(res)).searchParams.get('error')).toBe('invalid_request');
});

test('the trailing slash belongs to the address', async () => {
  const res = await get(authorizationUrl().replace('oauth2/?', 'oauth2?'));
  expect(res.status).toBe(404);
  expect(res.body).toMatchObject({ code: 'PATH_NOT_FOUND' });
});

test('a method that is not for browsers is refused', async () => {
  const res = await request(service).put(AUTHORIZATION);
  expect(res.status).toBe(405);
  expect(res.get('allow')).toBe('GET, HEAD, POST');
});

test('a request in order is met with the sign-in page', async () => {
  const res = await get(authorizationUrl(PKCE));
  expect(res.status).toBe(200);
  expect(res.text).toContain('autocomplete="current-password"');
});
