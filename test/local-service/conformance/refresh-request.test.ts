import type { Server } from 'node:http';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import request from 'supertest';
import { TOKEN_PATH } from '../../support/constants.ts';
import {
  A_TOKEN,
  apiRefusal,
  outcomeOf,
  success,
  tokenRefusal,
} from '../../support/local-service/answers.ts';
import { openBench } from '../../support/local-service/service-under-test.ts';
import type { Bench } from '../../support/local-service/service-under-test.ts';
import {
  callApi,
  newTokens,
  postToken,
  refreshFields,
  without,
} from '../../support/local-service/token-calls.ts';
import type { TokenAnswer } from '../../support/local-service/token-calls.ts';

const DAY = 86_400_000;
const NEW_TOKEN = success({ access_token: A_TOKEN, expires_in: 900 });

let bench: Bench;
let service: Server;
let tokens: TokenAnswer;
let fields: Record<string, string>;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start();
});
beforeEach(async () => {
  tokens = await newTokens(service);
  fields = refreshFields(tokens.refresh_token);
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const refresh = async (changed: Record<string, string> = {}) =>
  outcomeOf(await postToken(service, { ...fields, ...changed }));
const refreshWithout = async (name: string) => outcomeOf(await postToken(service, without(fields, name)));
const renewed = async (server = service, token = tokens.refresh_token) =>
  (await postToken(server, refreshFields(token))).body as Omit<TokenAnswer, 'refresh_token'> &
    Partial<TokenAnswer>;
const statusWith = async (accessToken: string, server = service) =>
  (await callApi(server, '/workspaces', accessToken)).status;

test('2 refresh, access_token: a new bearer token, not the one before', async () => {
  const { access_token } = await renewed();
  expect(access_token).not.toBe(tokens.access_token);
  expect(await statusWith(access_token)).toBe(200);
});

test('2 refresh, expires_in: a whole number: the seconds that the new access token lives', async () => {
  const brief = await bench.start({ accessTokenSeconds: 7 });
  const { access_token, expires_in } = await renewed(brief);
  expect(expires_in).toBe(7);
  bench.clock.time += 6_999;
  expect(await statusWith(access_token, brief)).toBe(200);
  bench.clock.time += 1;
  expect(await statusWith(access_token, brief)).toBe(401);
});

test('2 refresh, refresh_token: may be there; a client that goes on with what it was given last is served', async () => {
  const rotating = await bench.start({ rotateRefresh: true });
  const given: (string | undefined)[] = [];
  for (const server of [service, rotating, rotating, service]) {
    const current = given.findLast((token) => token !== undefined) ?? tokens.refresh_token;
    const answer = await renewed(server, current);
    expect(await statusWith(answer.access_token)).toBe(200);
    given.push(answer.refresh_token);
  }
  expect(given).toEqual([undefined, A_TOKEN, A_TOKEN, undefined]);
});

test('4.3 method and path: `POST`, to the very path of 4.2', async () => {
  const query = new URLSearchParams(fields).toString();
  for (const method of ['get', 'put', 'patch', 'delete'] as const) {
    const res = await request(service)[method](`${TOKEN_PATH}?${query}`);
    expect(outcomeOf(res)).toEqual(apiRefusal(405, 'METHOD_NOT_ALLOWED'));
  }
  for (const path of [`${TOKEN_PATH}/refresh`, TOKEN_PATH.replace('token', 'refresh')]) {
    const res = await request(service).post(path).type('form').send(fields);
    expect(outcomeOf(res)).toEqual(apiRefusal(404, 'PATH_NOT_FOUND'));
  }
  const res = await request(service)
    .post('/api/public/v1/authorization/oauth2/token')
    .type('form')
    .send(fields);
  expect(outcomeOf(res)).toEqual(NEW_TOKEN);
});

test('4.3 content type: `application/x-www-form-urlencoded`', async () => {
  const form = new URLSearchParams(fields).toString();
  const post = async (type: string, body: string) =>
    outcomeOf(await request(service).post(TOKEN_PATH).set('content-type', type).send(body));
  expect(await post('application/json', JSON.stringify(fields))).toEqual(tokenRefusal('invalid_request'));
  expect(await post('text/plain', form)).toEqual(tokenRefusal('invalid_request'));
  expect(await post('application/x-www-form-urlencoded', form)).toEqual(NEW_TOKEN);
});

test('4.3 client_id: required; that of the registered app', async () => {
  expect(await refreshWithout('client_id')).toEqual(tokenRefusal('invalid_client'));
  for (const client_id of ['', 'other-app', 'Demo-App']) {
    expect(await refresh({ client_id })).toEqual(tokenRefusal('invalid_client'));
  }
  expect(await refresh({ client_id: 'demo-app' })).toEqual(NEW_TOKEN);
});

test('4.3 client_secret: required; that of the registered app', async () => {
  expect(await refreshWithout('client_secret')).toEqual(tokenRefusal('invalid_client'));
  for (const client_secret of ['', 'wrong', 'Demo-Secret']) {
    expect(await refresh({ client_secret })).toEqual(tokenRefusal('invalid_client'));
  }
  expect(await refresh({ client_secret: 'demo-secret' })).toEqual(NEW_TOKEN);
});

test('4.3 refresh_token: required; one that was issued before', async () => {
  expect(await refreshWithout('refresh_token')).toEqual(tokenRefusal('invalid_request'));
  expect(await refresh({ refresh_token: '' })).toEqual(tokenRefusal('invalid_request'));
  expect(await refresh({ refresh_token: 'another' })).toEqual(tokenRefusal('invalid_grant'));
  expect(await refresh()).toEqual(NEW_TOKEN);
});

test('4.3 grant_type: required; `refresh_token`', async () => {
  expect(await refreshWithout('grant_type')).toEqual(tokenRefusal('invalid_request'));
  expect(await refresh({ grant_type: 'Refresh_Token' })).toEqual(tokenRefusal('unsupported_grant_type'));
  // The other grant wants a code.
  expect(await refresh({ grant_type: 'authorization_code' })).toEqual(tokenRefusal('invalid_request'));
  expect(await refresh({ grant_type: 'refresh_token' })).toEqual(NEW_TOKEN);
});

test('4.3 response: JSON with `access_token` and `expires_in`', async () => {
  expect(await refresh()).toEqual(NEW_TOKEN);
});

test('4.3 reuse: the same refresh token works repeatedly', async () => {
  const seen = new Set([tokens.access_token]);
  for (let use = 1; use <= 3; use += 1) {
    bench.clock.time += 10 * DAY;
    const { access_token } = await renewed();
    expect(await statusWith(access_token)).toBe(200);
    seen.add(access_token);
  }
  expect(seen.size).toBe(4);
});
