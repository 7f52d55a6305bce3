import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { TOKEN_PATH } from '../../support/constants.ts';
import {
  A_TOKEN,
  apiRefusal,
  outcomeOf,
  success,
  tokenRefusal,
} from '../../support/local-service/answers.ts';
import { CALLBACK, openBench } from '../../support/local-service/service-under-test.ts';
import type { Bench } from '../../support/local-service/service-under-test.ts';
import {
  callApi,
  codeFields,
  newCode,
  newTokens,
  postToken,
  refreshFields,
  without,
} from '../../support/local-service/token-calls.ts';

const OTHER = 'http://localhost:3000/other';
const TOKENS = success({ access_token: A_TOKEN, expires_in: 900, refresh_token: A_TOKEN });

let bench: Bench;
let service: Server;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start({ redirectUris: [CALLBACK, OTHER] });
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const exchange = async (fields: Record<string, string>) => outcomeOf(await postToken(service, fields));

test('2 code exchange, access_token: a string that API calls take as their bearer token', async () => {
  const { access_token } = await newTokens(service);
  expect((await callApi(service, '/workspaces', access_token)).status).toBe(200);
  expect((await callApi(service, '/workspaces', access_token.slice(1))).status).toBe(401);
});

test('2 code exchange, expires_in: a whole number: the seconds that the access token lives', async () => {
  const brief = await bench.start({ accessTokenSeconds: 7 });
  const { access_token, expires_in } = await newTokens(brief);
  expect(expires_in).toBe(7);
  bench.clock.time += 6_999;
  expect((await callApi(brief, '/workspaces', access_token)).status).toBe(200);
  bench.clock.time += 1;
  expect((await callApi(brief, '/workspaces', access_token)).status).toBe(401);
});

test('2 code exchange, refresh_token: a string that gets new access tokens', async () => {
  const { access_token, refresh_token } = await newTokens(service);
  expect((await postToken(service, refreshFields(refresh_token))).status).toBe(200);
  expect(await exchange(refreshFields(access_token))).toEqual(tokenRefusal('invalid_grant'));
  expect((await callApi(service, '/workspaces', refresh_token)).status).toBe(401);
});

test('4.2 method and path: `POST /api/public/v1/authorization/oauth2/token`', async () => {
  const fields = codeFields(await newCode(service));
  const query = new URLSearchParams(fields).toString();
  for (const method of ['get', 'put', 'patch', 'delete'] as const) {
    const res = await request(service)[method](`${TOKEN_PATH}?${query}`);
    expect(outcomeOf(res)).toEqual(apiRefusal(405, 'METHOD_NOT_ALLOWED'));
  }
  for (const path of [`${TOKEN_PATH}/`, TOKEN_PATH.replace('oauth2/token', 'token')]) {
    const res = await request(service).post(path).type('form').send(fields);
    expect(outcomeOf(res)).toEqual(apiRefusal(404, 'PATH_NOT_FOUND'));
  }
  const res = await request(service)
    .post('/api/public/v1/authorization/oauth2/token')
    .type('form')
    .send(fields);
  expect(outcomeOf(res)).toEqual(TOKENS);
});

test('4.2 content type: `application/x-www-form-urlencoded`', async () => {
  const fields = codeFields(await newCode(service));
  const form = new URLSearchParams(fields).toString();
  const post = (type: string, body: string) =>
    request(service).post(TOKEN_PATH).set('content-type', type).send(body);
  for (const [type, body] of [
    ['application/json', JSON.stringify(fields)],
    ['application/json', form],
    ['text/plain', form],
  ] as const) {
    expect(outcomeOf(await post(type, body))).toEqual(tokenRefusal('invalid_request'));
  }
  expect(outcomeOf(await post('application/x-www-form-urlencoded', form))).toEqual(TOKENS);
});

test('4.2 client_id: required; that of the registered app', async () => {
  const fields = codeFields(await newCode(service));
  expect(await exchange(without(fields, 'client_id'))).toEqual(tokenRefusal('invalid_client'));
  for (const client_id of ['', 'other-app', 'Demo-App']) {
    expect(await exchange({ ...fields, client_id })).toEqual(tokenRefusal('invalid_client'));
  }
  expect(await exchange({ ...fields, client_id: 'demo-app' })).toEqual(TOKENS);
});

test('4.2 client_secret: required; that of the registered app', async () => {
  const fields = codeFields(await newCode(service));
  expect(await exchange(without(fields, 'client_secret'))).toEqual(tokenRefusal('invalid_client'));
  for (const client_secret of ['', 'wrong', 'Demo-Secret']) {
    expect(await exchange({ ...fields, client_secret })).toEqual(tokenRefusal('invalid_client'));
  }
  expect(await exchange({ ...fields, client_secret: 'demo-secret' })).toEqual(TOKENS);
});

test('4.2 redirect_uri: required, as the authorization request always has one; identical to it', async () => {
  const fields = codeFields(await newCode(service));
  expect(await exchange(without(fields, 'redirect_uri'))).toEqual(tokenRefusal('invalid_request'));
  for (const redirect_uri of [OTHER, `${CALLBACK}/`, `${CALLBACK}?`, CALLBACK.toUpperCase()]) {
    expect(await exchange({ ...fields, redirect_uri })).toEqual(tokenRefusal('invalid_grant'));
  }
  expect(await exchange(fields)).toEqual(TOKENS);
});

test('4.2 code: required; the code of the callback', async () => {
  const fields = codeFields(await newCode(service));
  expect(await exchange(without(fields, 'code'))).toEqual(tokenRefusal('invalid_request'));
  expect(await exchange({ ...fields, code: '' })).toEqual(tokenRefusal('invalid_request'));
  expect(await exchange({ ...fields, code: 'another' })).toEqual(tokenRefusal('invalid_grant'));
  expect(await exchange(fields)).toEqual(TOKENS);
});

test('4.2 grant_type: required; `authorization_code`', async () => {
  const fields = codeFields(await newCode(service));
  expect(await exchange(without(fields, 'grant_type'))).toEqual(tokenRefusal('invalid_request'));
  expect(await exchange({ ...fields, grant_type: 'Authorization_Code' })).toEqual(
    tokenRefusal('unsupported_grant_type'),
  );
  // The other grant wants a refresh_token.
  expect(await exchange({ ...fields, grant_type: 'refresh_token' })).toEqual(tokenRefusal('invalid_request'));
  expect(await exchange({ ...fields, grant_type: 'authorization_code' })).toEqual(TOKENS);
});

test('4.2 response: JSON with `access_token`, `expires_in`, `refresh_token`', async () => {
  expect(await exchange(codeFields(await newCode(service)))).toEqual(TOKENS);
});
