import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { apiRefusal, outcomeOf, tokenRefusal } from '../support/local-service/answers.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import {
  PKCE,
  VERIFIER,
  callApi,
  codeFields,
  newCode,
  postToken,
} from '../support/local-service/token-calls.ts';
import type { TokenAnswer } from '../support/local-service/token-calls.ts';

let bench: Bench;
let service: Server;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start();
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const INVALID_GRANT = tokenRefusal('invalid_grant');

const exchange = (code: string, more: Record<string, string> = {}) =>
  postToken(service, codeFields(code, more));

test('tokens may not be stored', async () => {
  const res = await exchange(await newCode(service));
  expect(res.status).toBe(200);
  expect(res.get('cache-control')).toBe('no-store');
});

test('a code that another app has tried is as good as before: it was no replay', async () => {
  const other = await bench.start({ clientId: 'other-app' });
  const code = await newCode(service);
  const res = await postToken(other, codeFields(code, { client_id: 'other-app' }));
  expect(outcomeOf(res)).toEqual(INVALID_GRANT);
  expect((await exchange(code)).status).toBe(200);
});

describe('PKCE', () => {
  const wrong: [string, string][] = [
    ['an empty verifier', ''],
    ['a verifier in another case', VERIFIER.toUpperCase()],
    ['a verifier that is too short', 'short'],
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
  const listWith = async (accessToken: string) =>
    outcomeOf(await callApi(service, '/workspaces', accessToken));

  test('even when the code has long expired', async () => {
    const code = await newCode(service);
    const { access_token } = (await exchange(code)).body as TokenAnswer;
    bench.clock.time += 120_000;
    expect(outcomeOf(await exchange(code))).toEqual(INVALID_GRANT);
    expect(await listWith(access_token)).toEqual(apiRefusal(401, 'TOKEN_REVOKED'));
  });

  test.each([
    ['without the verifier', {}],
    ['with another verifier', { code_verifier: VERIFIER.toUpperCase() }],
    ['with another redirect URI', { code_verifier: VERIFIER, redirect_uri: 'http://localhost:3000/other' }],
  ])('even when it comes %s', async (_name, more: Record<string, string>) => {
    const code = await newCode(service, PKCE);
    const { access_token } = (await exchange(code, { code_verifier: VERIFIER })).body as TokenAnswer;
    expect(outcomeOf(await exchange(code, more))).toEqual(INVALID_GRANT);
    expect((await callApi(service, '/workspaces', access_token)).status).toBe(401);
  });

  test('but nothing of the same user’s other sign-in', async () => {
    const { access_token } = (await exchange(await newCode(service))).body as TokenAnswer;
    const code = await newCode(service);
    for (const _ of ['first', 'replay']) await exchange(code);
    expect(await listWith(access_token)).toMatchObject({ status: 200 });
  });
});
