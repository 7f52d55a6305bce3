import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { CLIENT_ID, CLIENT_SECRET, TOKEN_PATH } from '../support/constants.ts';
import { outcomeOf, tokenRefusal } from '../support/local-service/answers.ts';
import type { TokenError } from '../support/local-service/answers.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import {
  codeFields,
  newTokens,
  postToken,
  refreshFields,
  without,
} from '../support/local-service/token-calls.ts';

let bench: Bench;
let service: Server;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start();
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const code = codeFields('a-code');

// What no row of the interface asks about: test/local-service/conformance/token-errors.test.ts has those.
const cases: [string, Record<string, string>, TokenError][] = [
  ['no credentials at all', without(code, 'client_id', 'client_secret'), 'invalid_client'],
  [
    'a wrong secret, and no code either',
    without({ ...code, client_secret: 'wrong' }, 'code'),
    'invalid_client',
  ],
  ['a grant_type outside the grammar', { ...code, grant_type: 'refresh token' }, 'unsupported_grant_type'],
  ['a grant_type that is no ASCII', { ...code, grant_type: 'é' }, 'unsupported_grant_type'],
  [
    'a wrong secret and such a grant_type',
    { ...code, grant_type: 'é', client_secret: 'x' },
    'invalid_client',
  ],
  ['a name of every object as grant_type', { ...code, grant_type: 'constructor' }, 'unsupported_grant_type'],
];
test.each(cases)('%s', async (_name, fields, error) => {
  expect(outcomeOf(await postToken(service, fields))).toEqual(tokenRefusal(error));
});

test('no refusal may be stored', async () => {
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

test('HTTP Basic is not offered', async () => {
  const { refresh_token } = await newTokens(service);
  const fields = { grant_type: 'refresh_token', refresh_token };
  const res = await postToken(service, fields).auth(CLIENT_ID, CLIENT_SECRET);
  expect(outcomeOf(res)).toEqual(tokenRefusal('invalid_client'));
  expect(res.get('www-authenticate')).toBeUndefined();
});

test('a parameter that means nothing here is ignored', async () => {
  const { refresh_token } = await newTokens(service);
  const fields = refreshFields(refresh_token, { scope: 'everything:write', audience: 'x' });
  expect((await postToken(service, fields)).status).toBe(200);
});

test('only POST is taken, and an answer to anything else says so', async () => {
  const res = await request(service).get(TOKEN_PATH);
  expect(res.status).toBe(405);
  expect(res.get('allow')).toBe('POST');
});
