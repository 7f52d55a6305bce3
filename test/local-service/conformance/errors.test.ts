import { beforeAll, expect, test } from '@jest/globals';
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

const DAY = 86_400_000;
const OTHER = 'http://localhost:3000/other';
const OTHER_APP = { client_id: 'other-app' };
const TOKENS = success({ access_token: A_TOKEN, expires_in: 900, refresh_token: A_TOKEN });
const NEW_TOKEN = success({ access_token: A_TOKEN, expires_in: 900 });
const INVALID_GRANT = tokenRefusal('invalid_grant');

const fixture = useFixture(startServiceFixture);
/** A valid request, which tests change. */
let valid: Record<string, string>;
const service = useFixture(async () => fixture.start({ redirectUris: [CALLBACK, OTHER] }));
const atOther = useFixture(async () => fixture.start({ clientId: OTHER_APP.client_id }));
beforeAll(async () => {
  valid = refreshFields((await newTokens(service)).refresh_token);
});

const post = async (fields: Record<string, string>) => outcomeOf(await postToken(service, fields));

test('7 error shape: a JSON object of two strings, `error` and `error_description`', async () => {
  expect((await postToken(service, valid)).status).toBe(200);
  const faults: Record<string, string>[] = [
    { ...valid, grant_type: '' },
    { ...valid, client_secret: 'wrong' },
    { ...valid, refresh_token: 'never-issued' },
    { ...valid, grant_type: 'password' },
  ];
  const responses = await Promise.all(faults.map(async (fields) => postToken(service, fields)));
  expect(responses.map(({ type }) => type)).toEqual(faults.map(() => 'application/json'));
  const errors = ['invalid_request', 'invalid_client', 'invalid_grant', 'unsupported_grant_type'];
  expect(responses.map(({ body }) => body as unknown)).toEqual(
    errors.map((error) => ({ error, error_description: expect.any(String) })),
  );
});

test('7 invalid_request, missing parameter: a required parameter is missing', async () => {
  for (const name of ['grant_type', 'refresh_token']) {
    expect(await post(without(valid, name))).toEqual(tokenRefusal('invalid_request'));
  }
  for (const name of ['grant_type', 'code', 'redirect_uri']) {
    expect(await post(without(codeFields('a-code'), name))).toEqual(tokenRefusal('invalid_request'));
  }
});

test('7 invalid_request, unsupported value: a parameter has a value that none can have', async () => {
  for (const text of ['ünïcödé', 'two\nlines', 'nul\0']) {
    expect(await post({ ...valid, refresh_token: text })).toEqual(tokenRefusal('invalid_request'));
    expect(await post(codeFields(text))).toEqual(tokenRefusal('invalid_request'));
  }
});

test('7 invalid_request, malformed: the request is otherwise malformed', async () => {
  const form = new URLSearchParams(valid).toString();
  const send = async (body: string) =>
    outcomeOf(await request(service).post(TOKEN_PATH).type('form').send(body));
  for (const name of Object.keys(valid)) {
    const twice = `${form}&${name}=${encodeURIComponent(valid[name] ?? '')}`;
    expect(await send(twice)).toEqual(tokenRefusal('invalid_request'));
  }
  expect(await send(`${form}&filler=${'x'.repeat(20_000)}`)).toEqual(tokenRefusal('invalid_request'));
  expect(outcomeOf(await request(service).post(TOKEN_PATH))).toEqual(tokenRefusal('invalid_request'));
  expect(outcomeOf(await request(service).post(TOKEN_PATH).send(valid))).toEqual(
    tokenRefusal('invalid_request'),
  );
});

test('7 invalid_client, unknown client: no such `client_id`', async () => {
  for (const client_id of ['other-app', 'DEMO-APP', 'demo-appü']) {
    expect(await post({ ...valid, client_id })).toEqual(tokenRefusal('invalid_client'));
    expect(await post(codeFields('a-code', { client_id }))).toEqual(tokenRefusal('invalid_client'));
  }
});

test('7 invalid_client, wrong secret: not the secret of this client', async () => {
  for (const client_secret of ['wrong', 'DEMO-SECRET', 'demo-secret ', 'demo-secretü']) {
    expect(await post({ ...valid, client_secret })).toEqual(tokenRefusal('invalid_client'));
    expect(await post(codeFields('a-code', { client_secret }))).toEqual(tokenRefusal('invalid_client'));
  }
});

test('7 invalid_client, no authentication: id or secret is not included', async () => {
  for (const fields of [
    valid,
    codeFields('a-code'),
    codeFields('a-code', { code_verifier: 'x'.repeat(43) }),
  ]) {
    for (const name of ['client_id', 'client_secret']) {
      expect(await post(without(fields, name))).toEqual(tokenRefusal('invalid_client'));
      expect(await post({ ...fields, [name]: '' })).toEqual(tokenRefusal('invalid_client'));
    }
  }
});

test('7 invalid_client, unsupported method: the client authenticates in another way than by form fields', async () => {
  const { client_id = '', client_secret = '', ...grant } = valid;
  for (const fields of [grant, valid]) {
    const basic = await postToken(service, fields).auth(client_id, client_secret);
    expect(outcomeOf(basic)).toEqual(tokenRefusal('invalid_client'));
  }
  const inAddress = new URLSearchParams({ client_id, client_secret }).toString();
  const address = await request(service).post(`${TOKEN_PATH}?${inAddress}`).type('form').send(grant);
  expect(outcomeOf(address)).toEqual(tokenRefusal('invalid_client'));
  const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  const assertion = { ...grant, client_id, client_assertion_type, client_assertion: 'e30.e30.e30' };
  expect(await post(assertion)).toEqual(tokenRefusal('invalid_client'));
});

test('7 unsupported_grant_type: a `grant_type` that is neither of the two', async () => {
  for (const grant_type of [
    'password',
    'client_credentials',
    'implicit',
    'urn:example:grant',
    'Refresh_Token',
  ]) {
    expect(await post({ ...valid, grant_type })).toEqual(tokenRefusal('unsupported_grant_type'));
  }
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
  fixture.clock.time += 59_999;
  expect(await exchange(codes[0])).toEqual(TOKENS);
  fixture.clock.time += 1;
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
  const rotating = await fixture.start({ rotateRefresh: true });
  const { refresh_token } = await newTokens(rotating);
  const res = await postToken(rotating, refreshFields(refresh_token));
  expect(outcomeOf(res)).toEqual(TOKENS);
  expect(await refresh(refresh_token, {}, rotating)).toEqual(INVALID_GRANT);
  expect(await refresh((res.body as TokenResponse).refresh_token, {}, rotating)).toEqual(TOKENS);
});

test('7 invalid_grant, refresh token expired: the refresh token was not used for 90 days', async () => {
  const { refresh_token } = await newTokens(service);
  for (const idle of [90 * DAY - 1, 90 * DAY - 1]) {
    fixture.clock.time += idle;
    expect(await refresh(refresh_token)).toEqual(NEW_TOKEN);
  }
  fixture.clock.time += 90 * DAY;
  expect(await refresh(refresh_token)).toEqual(INVALID_GRANT);
  expect(await refresh(refresh_token)).toEqual(INVALID_GRANT);
});

test('7 invalid_grant, refresh token revoked: the grant behind the refresh token was revoked', async () => {
  const code = await newCode(service);
  const { access_token, refresh_token } = (await postToken(service, codeFields(code))).body as TokenResponse;
  expect(await refresh(refresh_token)).toEqual(NEW_TOKEN);
  // A second use of the code revokes all that came of it (RFC 6749 §4.1.2).
  await exchange(code);
  expect(await refresh(refresh_token)).toEqual(INVALID_GRANT);
  const response = await getApi(service, '/workspaces', access_token);
  expect(outcomeOf(response)).toEqual(apiRefusal(401, 'TOKEN_REVOKED'));
});

test('7 invalid_grant, refresh token of another client: the refresh token was issued to another app', async () => {
  const [ours, theirs] = [await newTokens(service), await newCode(atOther, OTHER_APP)];
  const given = (await postToken(atOther, codeFields(theirs, OTHER_APP))).body as TokenResponse;
  expect(await refresh(ours.refresh_token, OTHER_APP, atOther)).toEqual(INVALID_GRANT);
  expect(await refresh(given.refresh_token)).toEqual(INVALID_GRANT);
  expect(await refresh(ours.refresh_token)).toEqual(NEW_TOKEN);
  expect(await refresh(given.refresh_token, OTHER_APP, atOther)).toEqual(NEW_TOKEN);
});
