import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import type { Response } from 'supertest';
import { CALLBACK, openBench } from './service-under-test.ts';
import type { Bench } from './service-under-test.ts';
import { PKCE, VERIFIER, callApi, codeFields, newCode, postToken, refreshFields } from './token-calls.ts';
import type { TokenAnswer } from './token-calls.ts';

let bench: Bench;
let service: Server;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start({ redirectUris: [CALLBACK, 'http://localhost:3000/other'] });
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const toOutcome = ({ status, body }: Response) => ({ status, body: body as unknown });
const INVALID_GRANT = {
  status: 400,
  body: { error: 'invalid_grant', error_description: expect.stringMatching(/.+/) },
};

const exchange = (code: string, more: Record<string, string> = {}) =>
  postToken(service, codeFields(code, more));

test('a code is exchanged for exactly the fields of the interface', async () => {
  const res = await exchange(await newCode(service));
  expect(res.status).toBe(200);
  expect(res.body).toEqual({
    access_token: expect.stringMatching(/^[\w-]{43}$/),
    expires_in: 900,
    refresh_token: expect.stringMatching(/^[\w-]{43}$/),
  });
  expect(res.get('cache-control')).toBe('no-store');
  expect(res.type).toBe('application/json');
});

test('expires_in is the configured lifetime', async () => {
  const brief = await bench.start({ accessTokenSeconds: 7 });
  const res = await postToken(brief, codeFields(await newCode(brief)));
  expect(res.body).toMatchObject({ expires_in: 7 });
});

describe('a code is refused as invalid_grant', () => {
  test('when it was never issued', async () => {
    expect(toOutcome(await exchange('never-issued'))).toEqual(INVALID_GRANT);
  });

  test('when it has expired', async () => {
    const code = await newCode(service);
    bench.clock.time += 60_000;
    expect(toOutcome(await exchange(code))).toEqual(INVALID_GRANT);
  });

  test('when the redirect URI is another registered one', async () => {
    const code = await newCode(service);
    expect(toOutcome(await exchange(code, { redirect_uri: 'http://localhost:3000/other' }))).toEqual(
      INVALID_GRANT,
    );
  });

  test('when it was issued to another client', async () => {
    const other = await bench.start({ clientId: 'other-app' });
    const code = await newCode(service);
    const res = await postToken(other, codeFields(code, { client_id: 'other-app' }));
    expect(toOutcome(res)).toEqual(INVALID_GRANT);
    // It was no replay: the code is as good as before.
    expect((await exchange(code)).status).toBe(200);
  });

  test('when it was used before', async () => {
    const code = await newCode(service);
    expect((await exchange(code)).status).toBe(200);
    expect(toOutcome(await exchange(code))).toEqual(INVALID_GRANT);
  });
});

test('a code is good until the moment it expires', async () => {
  const code = await newCode(service);
  bench.clock.time += 59_999;
  expect((await exchange(code)).status).toBe(200);
});

describe('PKCE', () => {
  test('the right verifier opens the code', async () => {
    const code = await newCode(service, PKCE);
    expect((await exchange(code, { code_verifier: VERIFIER })).status).toBe(200);
  });

  const wrong: [string, Record<string, string>][] = [
    ['no verifier', {}],
    ['an empty verifier', { code_verifier: '' }],
    ['another verifier', { code_verifier: VERIFIER.toUpperCase() }],
    ['the challenge itself', { code_verifier: PKCE.code_challenge }],
    ['a verifier that is too short', { code_verifier: 'short' }],
    ['a verifier that is too long', { code_verifier: 'x'.repeat(129) }],
  ];
  test.each(wrong)('%s does not', async (_name, more) => {
    expect(toOutcome(await exchange(await newCode(service, PKCE), more))).toEqual(INVALID_GRANT);
  });

  test('a verifier for a code without a challenge is refused', async () => {
    expect(toOutcome(await exchange(await newCode(service), { code_verifier: VERIFIER }))).toEqual(
      INVALID_GRANT,
    );
  });

  test('a verifier does not stand in for the client secret', async () => {
    const { client_secret: _, ...fields } = codeFields(await newCode(service, PKCE), {
      code_verifier: VERIFIER,
    });
    const res = await postToken(service, fields);
    expect(res.status).toBe(401);
    expect(res.body).toMatchObject({ error: 'invalid_client' });
  });

  test('a code is spent by a wrong verifier', async () => {
    const code = await newCode(service, PKCE);
    await exchange(code, { code_verifier: VERIFIER.toUpperCase() });
    expect(toOutcome(await exchange(code, { code_verifier: VERIFIER }))).toEqual(INVALID_GRANT);
  });
});

test('of fifty exchanges of one code at once, one wins', async () => {
  const code = await newCode(service);
  const second = await bench.start();
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => postToken(index % 2 ? service : second, codeFields(code))),
  );
  expect(answers.filter((res) => res.status === 200)).toHaveLength(1);
  const refused = answers.filter((res) => res.status !== 200);
  expect(new Set(refused.map((res) => (res.body as { error: string }).error))).toEqual(
    new Set(['invalid_grant']),
  );
});

describe('a replayed code revokes what was issued from it', () => {
  async function replayed(): Promise<TokenAnswer> {
    const code = await newCode(service);
    const tokens = (await exchange(code)).body as TokenAnswer;
    expect((await callApi(service, '/workspaces', tokens.access_token)).status).toBe(200);
    await exchange(code);
    return tokens;
  }

  test('the access token', async () => {
    const { access_token } = await replayed();
    const res = await callApi(service, '/workspaces', access_token);
    expect(res.status).toBe(401);
    expect(res.body).toMatchObject({ code: 'TOKEN_REVOKED' });
  });

  test('the refresh token', async () => {
    const { refresh_token } = await replayed();
    expect(toOutcome(await postToken(service, refreshFields(refresh_token)))).toEqual(INVALID_GRANT);
  });

  test('even when the code has long expired', async () => {
    const code = await newCode(service);
    const { access_token } = (await exchange(code)).body as TokenAnswer;
    bench.clock.time += 120_000;
    await exchange(code);
    expect((await callApi(service, '/workspaces', access_token)).status).toBe(401);
  });

  test('but nothing of the same user’s other sign-in', async () => {
    const { access_token } = (await exchange(await newCode(service))).body as TokenAnswer;
    await replayed();
    expect((await callApi(service, '/workspaces', access_token)).status).toBe(200);
  });
});
