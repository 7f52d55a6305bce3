import type { Server } from 'node:http';
import { describe, expect, test } from '@jest/globals';
import request from 'supertest';
import { CLIENT_ID, CLIENT_SECRET, TOKEN_PATH } from '../support/constants.ts';
import { useFixture } from '../support/fixtures.ts';
import {
  apiRefusal,
  outcomeOf,
  tokenRefusal,
  type TokenError,
} from '../support/local-service/expectations.ts';
import { startServiceFixture } from '../support/local-service/fixture.ts';
import {
  PKCE,
  VERIFIER,
  codeFields,
  getApi,
  newCode,
  newTokens,
  postToken,
  refreshFields,
  without,
  type TokenResponse,
} from '../support/local-service/requests.ts';

const fixture = useFixture(startServiceFixture);
const service = useFixture(async () => fixture.start());

const exchangeFields = codeFields('a-code');

// Faults that no row of the interface names; conformance/errors.test.ts has the others.
const cases: [string, Record<string, string>, TokenError][] = [
  ['no credentials at all', without(exchangeFields, 'client_id', 'client_secret'), 'invalid_client'],
  [
    'a wrong secret, and no code either',
    without({ ...exchangeFields, client_secret: 'wrong' }, 'code'),
    'invalid_client',
  ],
  ['a grant_type that is no ASCII', { ...exchangeFields, grant_type: 'é' }, 'unsupported_grant_type'],
  [
    'a name of every object as grant_type',
    { ...exchangeFields, grant_type: 'constructor' },
    'unsupported_grant_type',
  ],
];
test.each(cases)('the token endpoint refuses %s', async (_name, fields, error) => {
  expect(outcomeOf(await postToken(service, fields))).toEqual(tokenRefusal(error));
});

test('a refusal may not be stored', async () => {
  const { refresh_token } = await newTokens(service);
  const refresh = refreshFields(refresh_token);
  for (const changed of [
    { client_secret: 'wrong' },
    { grant_type: '' },
    { grant_type: 'password' },
    { refresh_token: 'never-issued' },
  ]) {
    const res = await postToken(service, { ...refresh, ...changed });
    expect(res.status).not.toBe(200);
    expect(res.get('cache-control')).toBe('no-store');
  }
});

test('a 401 does not offer HTTP Basic', async () => {
  const { refresh_token } = await newTokens(service);
  const fields = { grant_type: 'refresh_token', refresh_token };
  const res = await postToken(service, fields).auth(CLIENT_ID, CLIENT_SECRET);
  expect(outcomeOf(res)).toEqual(tokenRefusal('invalid_client'));
  expect(res.get('www-authenticate')).toBeUndefined();
});

test('the token endpoint ignores unknown parameters', async () => {
  const { refresh_token } = await newTokens(service);
  const fields = refreshFields(refresh_token, { scope: 'everything:write', audience: 'x' });
  expect((await postToken(service, fields)).status).toBe(200);
});

test('only POST is taken, and an answer to anything else says so', async () => {
  const res = await request(service).get(TOKEN_PATH);
  expect(res.status).toBe(405);
  expect(res.get('allow')).toBe('POST');
});

const INVALID_GRANT = tokenRefusal('invalid_grant');

const exchange = (code: string, more: Record<string, string> = {}) =>
  postToken(service, codeFields(code, more));

test('tokens may not be stored', async () => {
  const res = await exchange(await newCode(service));
  expect(res.status).toBe(200);
  expect(res.get('cache-control')).toBe('no-store');
});

test('a code that another app has tried stays valid: that was no replay', async () => {
  const other = await fixture.start({ clientId: 'other-app' });
  const code = await newCode(service);
  const res = await postToken(other, codeFields(code, { client_id: 'other-app' }));
  expect(outcomeOf(res)).toEqual(INVALID_GRANT);
  expect((await exchange(code)).status).toBe(200);
});

describe('PKCE', () => {
  const wrong: [string, string][] = [
    ['an empty verifier', ''],
    ['a verifier that is too long', 'x'.repeat(129)],
  ];
  test.each(wrong)('%s does not open the code', async (_name, code_verifier) => {
    const res = await exchange(await newCode(service, PKCE), { code_verifier });
    expect(outcomeOf(res)).toEqual(INVALID_GRANT);
  });

  test('a verifier for a code without a challenge is refused', async () => {
    const res = await exchange(await newCode(service), { code_verifier: VERIFIER });
    expect(outcomeOf(res)).toEqual(INVALID_GRANT);
  });
});

test('of fifty exchanges of one code at once, one wins', async () => {
  const code = await newCode(service);
  const second = await fixture.start();
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, index) => postToken(index % 2 ? service : second, codeFields(code))),
  );
  expect(responses.filter((res) => res.status === 200)).toHaveLength(1);
  const refused = responses.filter((res) => res.status !== 200);
  expect(new Set(refused.map((res) => (res.body as { error: string }).error))).toEqual(
    new Set(['invalid_grant']),
  );
});

describe('a replayed code revokes what was issued from it', () => {
  const listWith = async (accessToken: string) =>
    outcomeOf(await getApi(service, '/workspaces', accessToken));

  test('even when the code has long expired', async () => {
    const code = await newCode(service);
    const { access_token } = (await exchange(code)).body as TokenResponse;
    fixture.clock.time += 120_000;
    expect(outcomeOf(await exchange(code))).toEqual(INVALID_GRANT);
    expect(await listWith(access_token)).toEqual(apiRefusal(401, 'TOKEN_REVOKED'));
  });

  test.each([
    ['without the verifier', {}],
    ['with another verifier', { code_verifier: VERIFIER.toUpperCase() }],
    ['with another redirect URI', { code_verifier: VERIFIER, redirect_uri: 'http://localhost:3000/other' }],
  ])('even when it comes %s', async (_name, more: Record<string, string>) => {
    const code = await newCode(service, PKCE);
    const { access_token } = (await exchange(code, { code_verifier: VERIFIER })).body as TokenResponse;
    expect(outcomeOf(await exchange(code, more))).toEqual(INVALID_GRANT);
    expect((await getApi(service, '/workspaces', access_token)).status).toBe(401);
  });

  test('but nothing of the same user’s other sign-in', async () => {
    const { access_token } = (await exchange(await newCode(service))).body as TokenResponse;
    const code = await newCode(service);
    for (const _ of ['first', 'replay']) await exchange(code);
    expect(await listWith(access_token)).toMatchObject({ status: 200 });
  });
});

const rotating = useFixture(async () => fixture.start({ rotateRefresh: true }));

const refresh = (server: Server, token: string) => postToken(server, refreshFields(token));

test('a refresh response may not be stored', async () => {
  const { refresh_token } = await newTokens(service);
  const res = await refresh(service, refresh_token);
  expect(res.status).toBe(200);
  expect(res.get('cache-control')).toBe('no-store');
});

test('the new access token has the same scopes', async () => {
  const { refresh_token } = await newTokens(service, 'room:write');
  const { access_token } = (await refresh(service, refresh_token)).body as TokenResponse;
  const res = await getApi(service, '/workspaces', access_token);
  expect(outcomeOf(res)).toEqual(apiRefusal(403, 'INVALID_SCOPE'));
});

test('a refresh does not revoke the access token before it', async () => {
  for (const server of [service, rotating]) {
    const { access_token, refresh_token } = await newTokens(server);
    expect((await refresh(server, refresh_token)).status).toBe(200);
    expect((await getApi(server, '/workspaces', access_token)).status).toBe(200);
  }
});

test('with rotation, one of fifty refreshes at once succeeds, and its tokens work', async () => {
  const { refresh_token } = await newTokens(rotating);
  const second = await fixture.start({ rotateRefresh: true });
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, index) => refresh(index % 2 ? rotating : second, refresh_token)),
  );
  const won = responses.filter((res) => res.status === 200);
  expect(won).toHaveLength(1);
  const [{ access_token, refresh_token: refreshed }] = won.map((res) => res.body as TokenResponse) as [
    TokenResponse,
  ];
  expect((await getApi(rotating, '/workspaces', access_token)).status).toBe(200);
  expect((await refresh(rotating, refreshed)).status).toBe(200);
});
