import { describe, expect, test } from '@jest/globals';
import { useFixture } from '../support/fixtures.ts';
import { INVALID_GRANT, apiRefusal, outcomeOf } from '../support/local-service/expectations.ts';
import { useLocalService } from '../support/local-service/fixture.ts';
import { PKCE, VERIFIER, tokensOf } from '../support/local-service/requests.ts';

// Tests of behaviour that the interface does not specify. conformance/ covers the interface.

const { fixture, service } = useLocalService();
const rotating = useFixture(async () => fixture.start({ rotateRefresh: true }));

const listWith = async (accessToken: string) => outcomeOf(await service.getApi('/workspaces', accessToken));

test('only one of 50 concurrent exchanges of a code receives tokens', async () => {
  const code = await service.newCode();
  const second = await fixture.start();
  const responses = await Promise.all(
    Array.from({ length: 50 }, (_, index) => (index % 2 ? service : second).exchange(code)),
  );
  const refused = responses.filter((res) => res.status !== 200);
  expect(refused.map(outcomeOf)).toEqual(Array.from({ length: 49 }, () => INVALID_GRANT));
});

describe('a replayed code', () => {
  test('a replayed code revokes its tokens even if the code has expired', async () => {
    const code = await service.newCode();
    const { access_token } = tokensOf(await service.exchange(code));
    fixture.clock.time += 120_000;
    expect(outcomeOf(await service.exchange(code))).toEqual(INVALID_GRANT);
    expect(await listWith(access_token)).toEqual(apiRefusal(401, 'TOKEN_REVOKED'));
  });

  test.each([
    ['without the verifier', {}],
    ['with a different verifier', { code_verifier: VERIFIER.toUpperCase() }],
    ['with another redirect URI', { code_verifier: VERIFIER, redirect_uri: 'http://localhost:3000/other' }],
  ])('a replayed code revokes its tokens even %s', async (_name, more: Record<string, string>) => {
    const code = await service.newCode(PKCE);
    const { access_token } = tokensOf(await service.exchange(code, { code_verifier: VERIFIER }));
    expect(outcomeOf(await service.exchange(code, more))).toEqual(INVALID_GRANT);
    expect(await listWith(access_token)).toEqual(apiRefusal(401, 'TOKEN_REVOKED'));
  });

  test('a replayed code does not affect another sign-in by the same user', async () => {
    const { access_token } = await service.newTokens();
    const code = await service.newCode();
    for (const _ of ['first', 'replay']) await service.exchange(code);
    expect(await listWith(access_token)).toMatchObject({ status: 200 });
  });
});

test('a refreshed access token has the scopes of the original token', async () => {
  const { refresh_token } = await service.newTokens('room:write');
  const { access_token } = tokensOf(await service.refresh(refresh_token));
  expect(await listWith(access_token)).toEqual(apiRefusal(403, 'INVALID_SCOPE'));
});

test('a refresh does not revoke the previous access token, with or without rotation', async () => {
  for (const server of [service, rotating]) {
    const { access_token, refresh_token } = await server.newTokens();
    expect((await server.refresh(refresh_token)).status).toBe(200);
    expect((await server.getApi('/workspaces', access_token)).status).toBe(200);
  }
});
