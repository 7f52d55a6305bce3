import { beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { TOKEN_PATH } from '../../support/constants.ts';
import { useFixture } from '../../support/fixtures.ts';
import {
  INVALID_GRANT,
  INVALID_REQUEST,
  NEW_TOKEN,
  TOKENS,
  apiRefusal,
  outcomeOf,
  tokenRefusal,
  type TokenError,
} from '../../support/local-service/expectations.ts';
import { useLocalService } from '../../support/local-service/fixture.ts';
import {
  CALLBACK,
  codeFields,
  refreshFields,
  tokensOf,
  type Fields,
} from '../../support/local-service/requests.ts';

const DAY = 86_400_000;
const OTHER = 'http://localhost:3000/other';
const OTHER_APP = { client_id: 'other-app' };

const { fixture, service } = useLocalService({ redirectUris: [CALLBACK, OTHER] });
const atOther = useFixture(async () => fixture.start({ clientId: OTHER_APP.client_id }));
/** A valid request for tests to modify. */
let valid: Record<string, string>;
beforeAll(async () => {
  valid = refreshFields((await service.newTokens()).refresh_token);
});

const post = async (fields: Fields) => outcomeOf(await service.postToken(fields));

test('7 error shape: a JSON object of two strings, `error` and `error_description`', async () => {
  expect(await post(valid)).toEqual(NEW_TOKEN);
  const faults: [TokenError, Fields][] = [
    ['invalid_request', { grant_type: '' }],
    ['invalid_client', { client_secret: 'wrong' }],
    ['invalid_grant', { refresh_token: 'never-issued' }],
    ['unsupported_grant_type', { grant_type: 'password' }],
  ];
  for (const [error, fault] of faults) {
    const { type, body } = await service.postToken({ ...valid, ...fault });
    expect(type).toBe('application/json');
    expect(body).toEqual({ error, error_description: expect.any(String) });
  }
});

test('7 invalid_request, missing parameter: a required parameter is missing', async () => {
  for (const name of ['grant_type', 'refresh_token']) {
    expect(await post({ ...valid, [name]: undefined })).toEqual(INVALID_REQUEST);
  }
  for (const name of ['grant_type', 'code', 'redirect_uri']) {
    expect(await post(codeFields('a-code', { [name]: undefined }))).toEqual(INVALID_REQUEST);
  }
});

test('7 invalid_request, unsupported value: a parameter has an unsupported value', async () => {
  for (const text of ['ünïcödé', 'two\nlines', 'nul\0']) {
    expect(await post({ ...valid, refresh_token: text })).toEqual(INVALID_REQUEST);
    expect(await post(codeFields(text))).toEqual(INVALID_REQUEST);
  }
});

test('7 invalid_request, malformed: the request is malformed in another way', async () => {
  const form = new URLSearchParams(valid).toString();
  const bodies = [
    ...Object.entries(valid).map(([name, value]) => `${form}&${name}=${encodeURIComponent(value)}`),
    `${form}&filler=${'x'.repeat(20_000)}`,
  ];
  const tokenRequest = () => request(service).post(TOKEN_PATH);
  for (const body of bodies) {
    expect(outcomeOf(await tokenRequest().type('form').send(body))).toEqual(INVALID_REQUEST);
  }
  expect(outcomeOf(await tokenRequest())).toEqual(INVALID_REQUEST);
  expect(outcomeOf(await tokenRequest().send(valid))).toEqual(INVALID_REQUEST);
});

/** Wrong field values, keyed by test name. A field set to undefined is omitted. */
const fieldRows: Readonly<Record<string, Readonly<Record<string, (string | undefined)[]>>>> = {
  '7 invalid_client, unknown client: the `client_id` does not exist': {
    client_id: ['other-app', 'DEMO-APP', 'demo-appü'],
  },
  '7 invalid_client, wrong secret: the secret does not belong to this client': {
    client_secret: ['wrong', 'DEMO-SECRET', 'demo-secret ', 'demo-secretü'],
  },
  '7 invalid_client, no authentication: the id or secret is missing': {
    client_id: [undefined, ''],
    client_secret: [undefined, ''],
  },
  '7 unsupported_grant_type: the `grant_type` is neither of the two supported values': {
    grant_type: ['password', 'client_credentials', 'urn:example:grant', 'Refresh_Token', 'é', 'constructor'],
  },
};
test.each(Object.entries(fieldRows))('%s', async (row, wrong) => {
  const refusal = tokenRefusal(
    row.startsWith('7 invalid_client') ? 'invalid_client' : 'unsupported_grant_type',
  );
  const exchange = codeFields('a-code', { code_verifier: 'x'.repeat(43) });
  for (const [name, values] of Object.entries(wrong)) {
    for (const value of values) {
      expect(await post({ ...valid, [name]: value })).toEqual(refusal);
      expect(await post({ ...exchange, [name]: value })).toEqual(refusal);
    }
  }
});

test('7 invalid_client, unsupported method: the client does not authenticate with form fields', async () => {
  const { client_id = '', client_secret = '', ...grant } = valid;
  for (const fields of [grant, valid]) {
    const basic = await service.postToken(fields).auth(client_id, client_secret);
    expect(outcomeOf(basic)).toEqual(tokenRefusal('invalid_client'));
    expect(basic.get('www-authenticate')).toBeUndefined();
  }
  const inAddress = new URLSearchParams({ client_id, client_secret }).toString();
  const address = await request(service).post(`${TOKEN_PATH}?${inAddress}`).type('form').send(grant);
  expect(outcomeOf(address)).toEqual(tokenRefusal('invalid_client'));
  const client_assertion_type = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
  const assertion = { ...grant, client_id, client_assertion_type, client_assertion: 'e30.e30.e30' };
  expect(await post(assertion)).toEqual(tokenRefusal('invalid_client'));
});

const exchange = async (code: string, more: Fields = {}, server = service) =>
  outcomeOf(await server.exchange(code, more));
const refresh = async (token: string, more: Fields = {}, server = service) =>
  outcomeOf(await server.refresh(token, more));

test('7 invalid_grant, code invalid: the code was never issued', async () => {
  const code = await service.newCode();
  for (const wrong of ['never-issued', code.slice(1), `${code}x`, code.toLowerCase()]) {
    expect(await exchange(wrong)).toEqual(INVALID_GRANT);
  }
  expect(await exchange(code)).toEqual(TOKENS);
});

test('7 invalid_grant, code already used: the code has already been exchanged', async () => {
  const code = await service.newCode();
  expect(await exchange(code)).toEqual(TOKENS);
  expect(await exchange(code)).toEqual(INVALID_GRANT);
  expect(await exchange(code)).toEqual(INVALID_GRANT);
});

test('7 invalid_grant, code expired: the code is too old', async () => {
  const codes = [await service.newCode(), await service.newCode()] as const;
  fixture.clock.time += 59_999;
  expect(await exchange(codes[0])).toEqual(TOKENS);
  fixture.clock.time += 1;
  expect(await exchange(codes[1])).toEqual(INVALID_GRANT);
});

test('7 invalid_grant, code revoked: the user’s grant has been revoked', async () => {
  const code = await service.newCode();
  expect(await exchange(code)).toEqual(TOKENS);
  expect(await exchange(code)).toEqual(INVALID_GRANT); // a replay revokes the grant
  expect(await exchange(code)).toEqual(INVALID_GRANT);
});

test('7 invalid_grant, redirect_uri: differs from the `redirect_uri` of the authorization request', async () => {
  const code = await service.newCode({ redirect_uri: OTHER });
  for (const redirect_uri of [CALLBACK, `${OTHER}/`, 'https://evil.example/']) {
    expect(await exchange(code, { redirect_uri })).toEqual(INVALID_GRANT);
  }
  expect(await exchange(code, { redirect_uri: OTHER })).toEqual(TOKENS);
});

test('7 invalid_grant, code of another client: the code was issued to another app', async () => {
  const [ours, theirs] = [await service.newCode(), await atOther.newCode(OTHER_APP)];
  expect(await exchange(ours, OTHER_APP, atOther)).toEqual(INVALID_GRANT);
  expect(await exchange(theirs)).toEqual(INVALID_GRANT);
  // Neither code has been consumed.
  expect(await exchange(ours)).toEqual(TOKENS);
  expect(await exchange(theirs, OTHER_APP, atOther)).toEqual(TOKENS);
});

test('7 invalid_grant, refresh token invalid: the refresh token was never issued', async () => {
  const { access_token, refresh_token } = await service.newTokens();
  for (const wrong of ['never-issued', access_token, refresh_token.slice(1), refresh_token.toLowerCase()]) {
    expect(await refresh(wrong)).toEqual(INVALID_GRANT);
  }
  expect(await refresh(refresh_token)).toEqual(NEW_TOKEN);
});

test('7 invalid_grant, refresh token already used: the refresh token was replaced when it was used', async () => {
  const rotating = await fixture.start({ rotateRefresh: true });
  const { refresh_token } = await rotating.newTokens();
  const refreshed = tokensOf(await rotating.refresh(refresh_token));
  expect(await refresh(refresh_token, {}, rotating)).toEqual(INVALID_GRANT);
  expect(await refresh(refreshed.refresh_token, {}, rotating)).toEqual(TOKENS);
});

test('7 invalid_grant, refresh token expired: the refresh token was not used for 90 days', async () => {
  const { refresh_token } = await service.newTokens();
  for (const _ of ['first', 'second']) {
    fixture.clock.time += 90 * DAY - 1;
    expect(await refresh(refresh_token)).toEqual(NEW_TOKEN);
  }
  fixture.clock.time += 90 * DAY;
  for (const _ of ['first', 'second']) expect(await refresh(refresh_token)).toEqual(INVALID_GRANT);
});

test('7 invalid_grant, refresh token revoked: the grant behind the refresh token was revoked', async () => {
  const code = await service.newCode();
  const { access_token, refresh_token } = tokensOf(await service.exchange(code));
  expect(await refresh(refresh_token)).toEqual(NEW_TOKEN);
  // A second use of the code revokes all tokens issued from it (RFC 6749 §4.1.2).
  await exchange(code);
  expect(await refresh(refresh_token)).toEqual(INVALID_GRANT);
  const response = await service.getApi('/workspaces', access_token);
  expect(outcomeOf(response)).toEqual(apiRefusal(401, 'TOKEN_REVOKED'));
});

test('7 invalid_grant, refresh token of another client: the refresh token was issued to another app', async () => {
  const ours = (await service.newTokens()).refresh_token;
  const theirs = tokensOf(await atOther.exchange(await atOther.newCode(OTHER_APP), OTHER_APP)).refresh_token;
  expect(await refresh(ours, OTHER_APP, atOther)).toEqual(INVALID_GRANT);
  expect(await refresh(theirs)).toEqual(INVALID_GRANT);
  expect(await refresh(ours)).toEqual(NEW_TOKEN);
  expect(await refresh(theirs, OTHER_APP, atOther)).toEqual(NEW_TOKEN);
});
