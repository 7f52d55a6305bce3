import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import {
  A_TOKEN,
  apiRefusal,
  outcomeOf,
  success,
  tokenRefusal,
} from '../../support/local-service/answers.ts';
import { ACCEPTED, told, verdictOn } from '../../support/local-service/authorization-verdict.ts';
import {
  DEMO,
  authorizationUrl,
  locationOf,
  openBrowser,
} from '../../support/local-service/cookie-browser.ts';
import { idsOn, walk } from '../../support/local-service/list-walk.ts';
import { CALLBACK, openBench } from '../../support/local-service/service-under-test.ts';
import type { Bench } from '../../support/local-service/service-under-test.ts';
import {
  PKCE,
  VERIFIER,
  callApi,
  codeFields,
  newCode,
  newTokens,
  postToken,
  refreshFields,
} from '../../support/local-service/token-calls.ts';
import type { TokenAnswer } from '../../support/local-service/token-calls.ts';

const TOKENS = success({ access_token: A_TOKEN, expires_in: 900, refresh_token: A_TOKEN });

let bench: Bench;
let service: Server;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start();
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const post = async (fields: Record<string, string>) => outcomeOf(await postToken(service, fields));
const callWith = async (accessToken: string) => outcomeOf(await callApi(service, '/workspaces', accessToken));

test('1 user-scoped tokens: a token acts for the one user who allowed it, and for nobody else', async () => {
  const [demo, guest] = [await newTokens(service), await newTokens(service, undefined, 'guest')];
  const idsFor = async (token: string) => idsOn(await walk(service, '/workspaces', token)).map(String);
  const ofGuest = await idsFor(guest.access_token);
  expect(ofGuest).toHaveLength(9);
  const together = new Set([...(await idsFor(demo.access_token)), ...ofGuest]);
  expect(together.size).toBe(137 + 9);
  const foreign = await callApi(service, `/workspaces/${ofGuest[0]}`, demo.access_token);
  expect(outcomeOf(foreign)).toEqual(apiRefusal(404, 'WORKSPACE_NOT_FOUND'));
});

test('5 rule 1, code grant: OAuth 2.0 with the Authorization Code Grant, and no other way in', async () => {
  const response_type = 'token';
  expect(await verdictOn(service, authorizationUrl({ response_type }))).toEqual(
    told('unsupported_response_type'),
  );
  for (const grant_type of ['password', 'client_credentials']) {
    const user = { ...DEMO, scope: 'room:read' };
    const fields = codeFields(await newCode(service), { ...user, grant_type });
    expect(await post(fields)).toEqual(tokenRefusal('unsupported_grant_type'));
  }
  expect(await post(codeFields(await newCode(service)))).toEqual(TOKENS);
});

test('5 rule 1, PKCE: PKCE is supported: a code with a challenge is worth nothing without its verifier', async () => {
  for (const verifier of [{}, { code_verifier: PKCE.code_challenge }, { code_verifier: 'x'.repeat(43) }]) {
    const code = await newCode(service, PKCE);
    expect(await post(codeFields(code, verifier))).toEqual(tokenRefusal('invalid_grant'));
  }
  const code = await newCode(service, PKCE);
  expect(await post(codeFields(code, { code_verifier: VERIFIER }))).toEqual(TOKENS);
});

test('5 rule 2, step 1: a new user comes to the authorization request by redirect', async () => {
  expect(await verdictOn(service, authorizationUrl())).toEqual(ACCEPTED);
});

test('5 rule 2, step 2: having authenticated and authorized, the user goes back with code and state', async () => {
  const [browser, url] = [openBrowser(service), authorizationUrl()];
  const signIn = await browser.submit(url, await browser.get(url), 'sign-in', DEMO);
  expect(locationOf(signIn)).toBe(url);
  const back = new URL(locationOf(await browser.submit(url, await browser.get(url), 'allow')));
  expect(back.origin + back.pathname).toBe(CALLBACK);
  expect(Object.fromEntries(back.searchParams)).toEqual({ code: A_TOKEN, state: 'a state & more' });
});

test('5 rule 2, step 3: the app exchanges the code for tokens', async () => {
  const code = await newCode(service);
  expect(await callWith(code)).toEqual(apiRefusal(401, 'TOKEN_INVALID'));
  const res = await postToken(service, codeFields(code));
  expect(outcomeOf(res)).toEqual(TOKENS);
  expect(await callWith((res.body as TokenAnswer).access_token)).toMatchObject({ status: 200 });
});

test('5 rule 3: once its access token has expired, the app gets a new one by the refresh token', async () => {
  const { access_token, refresh_token } = await newTokens(service);
  expect(await callWith(access_token)).toMatchObject({ status: 200 });
  bench.clock.time += 900_000;
  expect(await callWith(access_token)).toEqual(apiRefusal(401, 'TOKEN_EXPIRED'));
  const renewed = (await postToken(service, refreshFields(refresh_token))).body as TokenAnswer;
  expect(await callWith(renewed.access_token)).toMatchObject({ status: 200 });
});

test('5 rule 5: API calls carry the access token as `Authorization: Bearer`, and in no other way', async () => {
  const { access_token } = await newTokens(service);
  const [id] = idsOn(await walk(service, '/workspaces', access_token)).map(String);
  for (const path of ['', `/${id}`, `/${id}/rooms`, `/${id}/murals`]) {
    const url = `/api/public/v1/workspaces${path}`;
    const bare = await request(service).get(`${url}?access_token=${access_token}`);
    expect(outcomeOf(bare)).toEqual(apiRefusal(401, 'UNAUTHORIZED'));
    const otherwise = await request(service).get(url).set({ 'x-access-token': access_token });
    expect(outcomeOf(otherwise)).toEqual(apiRefusal(401, 'UNAUTHORIZED'));
    expect((await request(service).get(url).set('authorization', `Bearer ${access_token}`)).status).toBe(200);
  }
});
