import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
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
} from '../../support/local-service/token-calls.ts';
import type { TokenAnswer } from '../../support/local-service/token-calls.ts';

const DAY = 86_400_000;
const OTHER = 'http://localhost:3000/other';
const OTHER_APP = { client_id: 'other-app' };

const TOKENS = success({ access_token: A_TOKEN, expires_in: 900, refresh_token: A_TOKEN });
const NEW_TOKEN = success({ access_token: A_TOKEN, expires_in: 900 });
const INVALID_GRANT = tokenRefusal('invalid_grant');

let bench: Bench;
let service: Server;
/** Another app of the same service. */
let atOther: Server;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start({ redirectUris: [CALLBACK, OTHER] });
  atOther = await bench.start({ clientId: OTHER_APP.client_id });
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const exchange = async (code: string, more: Record<string, string> = {}, server = service) =>
  outcomeOf(await postToken(server, codeFields(code, more)));
const refresh = async (token: string, more: Record<string, string> = {}, server = service) =>
  outcomeOf(await postToken(server, refreshFields(token, more)));

test('7 invalid_grant, code invalid: the code was never issued', async () => {
  const code = await newCode(service);
  for (const wrong of ['never-issued', code.slice(1), `${code}x`, code.toLowerCase()]) {
    expect(await exchange(wrong)).toEqual(INVALID_GRANT);
  }
  expect(await exchange(code)).toEqual(TOKENS);
});

test('7 invalid_grant, code already used: the code was exchanged before', async () => {
  const code = await newCode(service);
  expect(await exchange(code)).toEqual(TOKENS);
  expect(await exchange(code)).toEqual(INVALID_GRANT);
  expect(await exchange(code)).toEqual(INVALID_GRANT);
});

test('7 invalid_grant, code expired: the code is too old', async () => {
  const codes = [await newCode(service), await newCode(service)] as const;
  bench.clock.time += 59_999;
  expect(await exchange(codes[0])).toEqual(TOKENS);
  bench.clock.time += 1;
  expect(await exchange(codes[1])).toEqual(INVALID_GRANT);
});

test('7 invalid_grant, code revoked: what the user allowed was revoked since', async () => {
  const code = await newCode(service);
  expect(await exchange(code)).toEqual(TOKENS);
  expect(await exchange(code)).toEqual(INVALID_GRANT); // a replay revokes
  expect(await exchange(code)).toEqual(INVALID_GRANT);
});

test('7 invalid_grant, redirect_uri: not the `redirect_uri` of the authorization request', async () => {
  const code = await newCode(service, { redirect_uri: OTHER });
  for (const redirect_uri of [CALLBACK, `${OTHER}/`, 'https://evil.example/']) {
    expect(await exchange(code, { redirect_uri })).toEqual(INVALID_GRANT);
  }
  expect(await exchange(code, { redirect_uri: OTHER })).toEqual(TOKENS);
});

test('7 invalid_grant, code of another client: the code was issued to another app', async () => {
  expect(await exchange(await newCode(service), OTHER_APP, atOther)).toEqual(INVALID_GRANT);
  const code = await newCode(atOther, OTHER_APP);
  expect(await exchange(code)).toEqual(INVALID_GRANT);
  expect(await exchange(await newCode(atOther, OTHER_APP), OTHER_APP, atOther)).toEqual(TOKENS);
});

test('7 invalid_grant, refresh token invalid: the refresh token was never issued', async () => {
  const { access_token, refresh_token } = await newTokens(service);
  for (const wrong of ['never-issued', access_token, refresh_token.slice(1), refresh_token.toLowerCase()]) {
    expect(await refresh(wrong)).toEqual(INVALID_GRANT);
  }
  expect(await refresh(refresh_token)).toEqual(NEW_TOKEN);
});

test('7 invalid_grant, refresh token already used: the refresh token was replaced by its use', async () => {
  const rotating = await bench.start({ rotateRefresh: true });
  const { refresh_token } = await newTokens(rotating);
  const res = await postToken(rotating, refreshFields(refresh_token));
  expect(outcomeOf(res)).toEqual(TOKENS);
  expect(await refresh(refresh_token, {}, rotating)).toEqual(INVALID_GRANT);
  expect(await refresh((res.body as TokenAnswer).refresh_token, {}, rotating)).toEqual(TOKENS);
});

test('7 invalid_grant, refresh token expired: the refresh token was not used for 90 days', async () => {
  const { refresh_token } = await newTokens(service);
  for (const idle of [90 * DAY - 1, 90 * DAY - 1]) {
    bench.clock.time += idle;
    expect(await refresh(refresh_token)).toEqual(NEW_TOKEN);
  }
  bench.clock.time += 90 * DAY;
  expect(await refresh(refresh_token)).toEqual(INVALID_GRANT);
  expect(await refresh(refresh_token)).toEqual(INVALID_GRANT);
});

test('7 invalid_grant, refresh token revoked: the grant behind the refresh token was revoked', async () => {
  const code = await newCode(service);
  const { access_token, refresh_token } = (await postToken(service, codeFields(code))).body as TokenAnswer;
  expect(await refresh(refresh_token)).toEqual(NEW_TOKEN);
  // A second use of the code revokes all that came of it (RFC 6749 §4.1.2).
  await exchange(code);
  expect(await refresh(refresh_token)).toEqual(INVALID_GRANT);
  const call = await callApi(service, '/workspaces', access_token);
  expect(outcomeOf(call)).toEqual(apiRefusal(401, 'TOKEN_REVOKED'));
});

test('7 invalid_grant, refresh token of another client: the refresh token was issued to another app', async () => {
  const [ours, theirs] = [await newTokens(service), await newCode(atOther, OTHER_APP)];
  const given = (await postToken(atOther, codeFields(theirs, OTHER_APP))).body as TokenAnswer;
  expect(await refresh(ours.refresh_token, OTHER_APP, atOther)).toEqual(INVALID_GRANT);
  expect(await refresh(given.refresh_token)).toEqual(INVALID_GRANT);
  expect(await refresh(ours.refresh_token)).toEqual(NEW_TOKEN);
  expect(await refresh(given.refresh_token, OTHER_APP, atOther)).toEqual(NEW_TOKEN);
});
