import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { openBench } from './service-under-test.ts';
import type { Bench } from './service-under-test.ts';
import { TOKEN, codeFields, newCode, newTokens, postToken, refreshFields } from './token-calls.ts';

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
const refresh = refreshFields('a-refresh-token');
const without = (fields: Record<string, string>, name: string) =>
  Object.fromEntries(Object.entries(fields).filter(([key]) => key !== name));

const cases: [string, Record<string, string>, string][] = [
  ['no client_id', without(code, 'client_id'), 'invalid_client'],
  ['no client_secret', without(code, 'client_secret'), 'invalid_client'],
  ['no credentials for a refresh', without(without(refresh, 'client_id'), 'client_secret'), 'invalid_client'],
  ['an unknown client', { ...code, client_id: 'other-app' }, 'invalid_client'],
  ['a wrong secret', { ...refresh, client_secret: 'wrong' }, 'invalid_client'],
  ['a wrong secret of odd characters', { ...refresh, client_secret: 'demo-secret\u00e9' }, 'invalid_client'],
  [
    'a wrong secret, and no code either',
    { ...without(code, 'code'), client_secret: 'wrong' },
    'invalid_client',
  ],
  ['no grant_type', without(code, 'grant_type'), 'invalid_request'],
  ['an empty grant_type', { ...code, grant_type: '' }, 'invalid_request'],
  ['no code', without(code, 'code'), 'invalid_request'],
  ['no redirect_uri', without(code, 'redirect_uri'), 'invalid_request'],
  ['no refresh_token', without(refresh, 'refresh_token'), 'invalid_request'],
  ['grant_type password', { ...code, grant_type: 'password' }, 'unsupported_grant_type'],
  ['grant_type client_credentials', { ...code, grant_type: 'client_credentials' }, 'unsupported_grant_type'],
  ['a grant_type nobody knows', { ...code, grant_type: 'urn:example:grant' }, 'unsupported_grant_type'],
  ['a grant_type in another case', { ...refresh, grant_type: 'Refresh_Token' }, 'unsupported_grant_type'],
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
  const res = await postToken(service, fields);
  expect(res.body).toEqual({ error, error_description: expect.stringMatching(/.+/) });
  expect(res.status).toBe(error === 'invalid_client' ? 401 : 400);
  expect(res.get('cache-control')).toBe('no-store');
});

test('a repeated parameter is invalid_request', async () => {
  const body = `${new URLSearchParams(refresh).toString()}&grant_type=refresh_token`;
  const res = await request(service).post(TOKEN).type('form').send(body);
  expect(res.status).toBe(400);
  expect(res.body).toMatchObject({ error: 'invalid_request' });
});

test('a JSON body is invalid_request', async () => {
  const { refresh_token } = await newTokens(service);
  const res = await request(service).post(TOKEN).send(refreshFields(refresh_token));
  expect(res.status).toBe(400);
  expect(res.body).toMatchObject({ error: 'invalid_request' });
});

test('no body at all is invalid_request', async () => {
  const res = await request(service).post(TOKEN);
  expect(res.status).toBe(400);
  expect(res.body).toMatchObject({ error: 'invalid_request' });
});

test('a body that is too large is invalid_request', async () => {
  const res = await postToken(service, { ...refresh, filler: 'x'.repeat(20_000) });
  expect(res.status).toBe(400);
  expect(res.body).toMatchObject({ error: 'invalid_request' });
});

test('HTTP Basic is an unsupported way to authenticate, and is not offered', async () => {
  const { refresh_token } = await newTokens(service);
  const fields = { grant_type: 'refresh_token', refresh_token };
  const res = await postToken(service, fields).auth('demo-app', 'demo-secret');
  expect(res.status).toBe(401);
  expect(res.body).toMatchObject({ error: 'invalid_client' });
  expect(res.get('www-authenticate')).toBeUndefined();
});

test('two ways to authenticate at once are refused, even where both are right', async () => {
  const { refresh_token } = await newTokens(service);
  const res = await postToken(service, refreshFields(refresh_token)).auth('demo-app', 'demo-secret');
  expect(res.status).toBe(401);
});

test('credentials in the address are no credentials', async () => {
  const { refresh_token } = await newTokens(service);
  const res = await request(service)
    .post(`${TOKEN}?client_id=demo-app&client_secret=demo-secret`)
    .type('form')
    .send({ grant_type: 'refresh_token', refresh_token });
  expect(res.body).toMatchObject({ error: 'invalid_client' });
});

test('a wrong secret does not spend the code', async () => {
  const real = await newCode(service);
  await postToken(service, codeFields(real, { client_secret: 'wrong' }));
  expect((await postToken(service, codeFields(real))).status).toBe(200);
});

test('a parameter that means nothing here is ignored', async () => {
  const { refresh_token } = await newTokens(service);
  const res = await postToken(
    service,
    refreshFields(refresh_token, { scope: 'everything:write', audience: 'x' }),
  );
  expect(res.status).toBe(200);
});

test('only POST is taken', async () => {
  const res = await request(service).get(TOKEN);
  expect(res.status).toBe(405);
  expect(res.get('allow')).toBe('POST');
});
