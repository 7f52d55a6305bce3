import { expect, test } from '@jest/globals';
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
  type TokenResponse,
} from '../../support/local-service/requests.ts';

const DAY = 86_400_000;
const OTHER = 'http://localhost:3000/other';

const { fixture, service } = useLocalService({ redirectUris: [CALLBACK, OTHER] });
const brief = useFixture(async () => fixture.start({ accessTokenSeconds: 7 }));

const post = async (fields: Fields) => outcomeOf(await service.postToken(fields));
const statusWith = async (accessToken: string) => (await service.getApi('/workspaces', accessToken)).status;

/** Checks that the token works for exactly seven seconds. */
async function expectSevenSeconds({ access_token, expires_in }: TokenResponse): Promise<void> {
  expect(expires_in).toBe(7);
  fixture.clock.time += 6_999;
  expect(await statusWith(access_token)).toBe(200);
  fixture.clock.time += 1;
  expect(await statusWith(access_token)).toBe(401);
}

test('2 code exchange, access_token: a string that API requests send as the bearer token', async () => {
  const { access_token } = await service.newTokens();
  expect(await statusWith(access_token)).toBe(200);
  expect(await statusWith(access_token.slice(1))).toBe(401);
});

test('2 code exchange, expires_in: an integer, the lifetime of the access token in seconds', async () => {
  await expectSevenSeconds(await brief.newTokens());
});

test('2 code exchange, refresh_token: a string for obtaining new access tokens', async () => {
  const { access_token, refresh_token } = await service.newTokens();
  expect(await post(refreshFields(refresh_token))).toEqual(NEW_TOKEN);
  expect(await post(refreshFields(access_token))).toEqual(INVALID_GRANT);
  expect(await statusWith(refresh_token)).toBe(401);
});

test('2 refresh, access_token: a new bearer token, different from the previous one', async () => {
  const tokens = await service.newTokens();
  const { access_token } = tokensOf(await service.refresh(tokens.refresh_token));
  expect(access_token).not.toBe(tokens.access_token);
  expect(await statusWith(access_token)).toBe(200);
});

test('2 refresh, expires_in: an integer, the lifetime of the new access token in seconds', async () => {
  const { refresh_token } = await brief.newTokens();
  await expectSevenSeconds(tokensOf(await brief.refresh(refresh_token)));
});

test('2 refresh, refresh_token: optional; the client uses the latest one that it received', async () => {
  const rotating = await fixture.start({ rotateRefresh: true });
  const given: string[] = [(await service.newTokens()).refresh_token];
  for (const [server, expected] of [
    [service, NEW_TOKEN],
    [rotating, TOKENS],
    [rotating, TOKENS],
    [service, NEW_TOKEN],
  ] as const) {
    const res = await server.refresh(given.at(-1) ?? '');
    expect(outcomeOf(res)).toEqual(expected);
    const { access_token, refresh_token } = res.body as Partial<TokenResponse>;
    expect(await statusWith(access_token ?? '')).toBe(200);
    if (refresh_token !== undefined) given.push(refresh_token);
  }
});

const newExchange = async () => codeFields(await service.newCode());
const newRefresh = async () => refreshFields((await service.newTokens()).refresh_token);

/** Resolves with the fields of a valid request for this row's section, and the expected outcome. */
async function validFor(row: string) {
  return row.startsWith('4.2 ')
    ? { valid: await newExchange(), expected: TOKENS }
    : { valid: await newRefresh(), expected: NEW_TOKEN };
}

test.each([
  '4.2 method and path: `POST /api/public/v1/authorization/oauth2/token`',
  '4.3 method and path: `POST`, to the same path as in 4.2',
])('%s', async (row) => {
  const { valid, expected } = await validFor(row);
  const query = new URLSearchParams(valid).toString();
  for (const method of ['get', 'put', 'patch', 'delete'] as const) {
    const res = await request(service)[method](`${TOKEN_PATH}?${query}`);
    expect(outcomeOf(res)).toEqual(apiRefusal(405, 'METHOD_NOT_ALLOWED'));
    expect(res.get('allow')).toBe('POST');
  }
  const oauth2 = '/api/public/v1/authorization/oauth2';
  const sendTo = async (path: string) =>
    outcomeOf(await request(service).post(path).type('form').send(valid));
  for (const path of ['/token/', '/token/refresh', '/refresh', '/../token']) {
    expect(await sendTo(oauth2 + path)).toEqual(apiRefusal(404, 'PATH_NOT_FOUND'));
  }
  expect(await sendTo(`${oauth2}/token`)).toEqual(expected);
});

test.each([
  '4.2 content type: `application/x-www-form-urlencoded`',
  '4.3 content type: `application/x-www-form-urlencoded`',
])('%s', async (row) => {
  const { valid, expected } = await validFor(row);
  const form = new URLSearchParams(valid).toString();
  const send = async (type: string, body: string) =>
    outcomeOf(await request(service).post(TOKEN_PATH).set('content-type', type).send(body));
  expect(await send('application/json', JSON.stringify(valid))).toEqual(INVALID_REQUEST);
  for (const type of ['application/json', 'text/plain'])
    expect(await send(type, form)).toEqual(INVALID_REQUEST);
  expect(await send('application/x-www-form-urlencoded', form)).toEqual(expected);
});

/** Refused values, keyed by the resulting error. A field set to undefined is omitted. */
type Refused = Partial<Record<TokenError, (string | undefined)[]>>;
const CLIENT_IDS: Refused = { invalid_client: [undefined, '', 'other-app', 'Demo-App'] };
const CLIENT_SECRETS: Refused = { invalid_client: [undefined, '', 'wrong', 'Demo-Secret'] };
const UNKNOWN: Refused = { invalid_request: [undefined, ''], invalid_grant: ['another'] };

const fieldRows: Readonly<Record<string, Refused>> = {
  '4.2 client_id: required; must match the registered app': CLIENT_IDS,
  '4.2 client_secret: required; must match the registered app': CLIENT_SECRETS,
  '4.2 redirect_uri: required; must equal the `redirect_uri` of the authorization request': {
    invalid_request: [undefined],
    invalid_grant: [OTHER, `${CALLBACK}/`, `${CALLBACK}?`, CALLBACK.toUpperCase()],
  },
  '4.2 code: required; the code from the callback': UNKNOWN,
  '4.2 grant_type: required; `authorization_code`': {
    invalid_request: [undefined, 'refresh_token'], // the other grant needs a refresh_token
    unsupported_grant_type: ['Authorization_Code'],
  },
  '4.3 client_id: required; must match the registered app': CLIENT_IDS,
  '4.3 client_secret: required; must match the registered app': CLIENT_SECRETS,
  '4.3 refresh_token: required; a token issued earlier': UNKNOWN,
  '4.3 grant_type: required; `refresh_token`': {
    invalid_request: [undefined, 'authorization_code'], // the other grant needs a code
    unsupported_grant_type: ['Refresh_Token'],
  },
};
test.each(Object.entries(fieldRows))('%s', async (row, refused) => {
  const { valid, expected } = await validFor(row);
  const [, field = ''] = /^\S+ (\w+):/.exec(row) ?? [];
  for (const [error, values] of Object.entries(refused)) {
    for (const value of values) {
      expect(await post({ ...valid, [field]: value })).toEqual(tokenRefusal(error as TokenError));
    }
  }
  expect(await post(valid)).toEqual(expected);
});

test('4.2 response: JSON with `access_token`, `expires_in`, `refresh_token`', async () => {
  expect(await post(await newExchange())).toEqual(TOKENS);
});

test('4.3 response: JSON with `access_token` and `expires_in`', async () => {
  expect(await post(await newRefresh())).toEqual(NEW_TOKEN);
});

test('4.3 reuse: the same refresh token works repeatedly', async () => {
  const tokens = await service.newTokens();
  const seen = new Set([tokens.access_token]);
  for (let use = 1; use <= 3; use += 1) {
    fixture.clock.time += 10 * DAY;
    const { access_token } = tokensOf(await service.refresh(tokens.refresh_token));
    expect(await statusWith(access_token)).toBe(200);
    seen.add(access_token);
  }
  expect(seen.size).toBe(4);
});
