import { beforeEach, expect, test } from '@jest/globals';
import request from 'supertest';
import { TOKEN_PATH } from '../../support/constants.ts';
import { useFixture } from '../../support/fixtures.ts';
import {
  A_TOKEN,
  apiRefusal,
  outcomeOf,
  success,
  tokenRefusal,
} from '../../support/local-service/expectations.ts';
import { CALLBACK, startServiceFixture } from '../../support/local-service/fixture.ts';
import {
  codeFields,
  getApi,
  newCode,
  newTokens,
  postToken,
  refreshFields,
  without,
  type TokenResponse,
} from '../../support/local-service/requests.ts';

const fixture = useFixture(startServiceFixture);
const OTHER = 'http://localhost:3000/other';
const TOKENS = success({ access_token: A_TOKEN, expires_in: 900, refresh_token: A_TOKEN });

const service = useFixture(async () => fixture.start({ redirectUris: [CALLBACK, OTHER] }));

const exchange = async (fields: Record<string, string>) => outcomeOf(await postToken(service, fields));

test('2 code exchange, access_token: a string that API calls take as their bearer token', async () => {
  const { access_token } = await newTokens(service);
  expect((await getApi(service, '/workspaces', access_token)).status).toBe(200);
  expect((await getApi(service, '/workspaces', access_token.slice(1))).status).toBe(401);
});

test('2 code exchange, expires_in: a whole number: the seconds that the access token lives', async () => {
  const brief = await fixture.start({ accessTokenSeconds: 7 });
  const { access_token, expires_in } = await newTokens(brief);
  expect(expires_in).toBe(7);
  fixture.clock.time += 6_999;
  expect((await getApi(brief, '/workspaces', access_token)).status).toBe(200);
  fixture.clock.time += 1;
  expect((await getApi(brief, '/workspaces', access_token)).status).toBe(401);
});

test('2 code exchange, refresh_token: a string that gets new access tokens', async () => {
  const { access_token, refresh_token } = await newTokens(service);
  expect((await postToken(service, refreshFields(refresh_token))).status).toBe(200);
  expect(await exchange(refreshFields(access_token))).toEqual(tokenRefusal('invalid_grant'));
  expect((await getApi(service, '/workspaces', refresh_token)).status).toBe(401);
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

const DAY = 86_400_000;
const NEW_TOKEN = success({ access_token: A_TOKEN, expires_in: 900 });

let tokens: TokenResponse;
let fields: Record<string, string>;
beforeEach(async () => {
  tokens = await newTokens(service);
  fields = refreshFields(tokens.refresh_token);
});

const refresh = async (changed: Record<string, string> = {}) =>
  outcomeOf(await postToken(service, { ...fields, ...changed }));
const refreshWithout = async (name: string) => outcomeOf(await postToken(service, without(fields, name)));
const refreshed = async (server = service, token = tokens.refresh_token) =>
  (await postToken(server, refreshFields(token))).body as Omit<TokenResponse, 'refresh_token'> &
    Partial<TokenResponse>;
const statusWith = async (accessToken: string, server = service) =>
  (await getApi(server, '/workspaces', accessToken)).status;

test('2 refresh, access_token: a new bearer token, not the one before', async () => {
  const { access_token } = await refreshed();
  expect(access_token).not.toBe(tokens.access_token);
  expect(await statusWith(access_token)).toBe(200);
});

test('2 refresh, expires_in: a whole number: the seconds that the new access token lives', async () => {
  const brief = await fixture.start({ accessTokenSeconds: 7 });
  const { access_token, expires_in } = await refreshed(brief);
  expect(expires_in).toBe(7);
  fixture.clock.time += 6_999;
  expect(await statusWith(access_token, brief)).toBe(200);
  fixture.clock.time += 1;
  expect(await statusWith(access_token, brief)).toBe(401);
});

test('2 refresh, refresh_token: may be there; a client that goes on with what it was given last is served', async () => {
  const rotating = await fixture.start({ rotateRefresh: true });
  const given: (string | undefined)[] = [];
  for (const server of [service, rotating, rotating, service]) {
    const current = given.findLast((token) => token !== undefined) ?? tokens.refresh_token;
    const response = await refreshed(server, current);
    expect(await statusWith(response.access_token)).toBe(200);
    given.push(response.refresh_token);
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
    fixture.clock.time += 10 * DAY;
    const { access_token } = await refreshed();
    expect(await statusWith(access_token)).toBe(200);
    seen.add(access_token);
  }
  expect(seen.size).toBe(4);
});
