import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { TOKEN_PATH } from '../../support/constants.ts';
import { outcomeOf, tokenRefusal } from '../../support/local-service/answers.ts';
import { openBench } from '../../support/local-service/service-under-test.ts';
import type { Bench } from '../../support/local-service/service-under-test.ts';
import {
  codeFields,
  newTokens,
  postToken,
  refreshFields,
  without,
} from '../../support/local-service/token-calls.ts';

let bench: Bench;
let service: Server;
/** A request that is in order, until a test changes it. */
let refresh: Record<string, string>;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start();
  refresh = refreshFields((await newTokens(service)).refresh_token);
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const post = async (fields: Record<string, string>) => outcomeOf(await postToken(service, fields));

test('7 error shape: a JSON object of two strings, `error` and `error_description`', async () => {
  expect((await postToken(service, refresh)).status).toBe(200);
  const faults: Record<string, string>[] = [
    { ...refresh, grant_type: '' },
    { ...refresh, client_secret: 'wrong' },
    { ...refresh, refresh_token: 'never-issued' },
    { ...refresh, grant_type: 'password' },
  ];
  const answers = await Promise.all(faults.map(async (fields) => postToken(service, fields)));
  expect(answers.map(({ type }) => type)).toEqual(faults.map(() => 'application/json'));
  const errors = ['invalid_request', 'invalid_client', 'invalid_grant', 'unsupported_grant_type'];
  expect(answers.map(({ body }) => body as unknown)).toEqual(
    errors.map((error) => ({ error, error_description: expect.any(String) })),
  );
});

test('7 invalid_request, missing parameter: a required parameter is missing', async () => {
  for (const name of ['grant_type', 'refresh_token']) {
    expect(await post(without(refresh, name))).toEqual(tokenRefusal('invalid_request'));
  }
  for (const name of ['grant_type', 'code', 'redirect_uri']) {
    expect(await post(without(codeFields('a-code'), name))).toEqual(tokenRefusal('invalid_request'));
  }
});

test('7 invalid_request, unsupported value: a parameter has a value that none can have', async () => {
  for (const text of ['ünïcödé', 'two\nlines', 'nul\0']) {
    expect(await post({ ...refresh, refresh_token: text })).toEqual(tokenRefusal('invalid_request'));
    expect(await post(codeFields(text))).toEqual(tokenRefusal('invalid_request'));
  }
});

test('7 invalid_request, malformed: the request is otherwise malformed', async () => {
  const form = new URLSearchParams(refresh).toString();
  const send = async (body: string) =>
    outcomeOf(await request(service).post(TOKEN_PATH).type('form').send(body));
  for (const name of Object.keys(refresh)) {
    const twice = `${form}&${name}=${encodeURIComponent(refresh[name] ?? '')}`;
    expect(await send(twice)).toEqual(tokenRefusal('invalid_request'));
  }
  expect(await send(`${form}&filler=${'x'.repeat(20_000)}`)).toEqual(tokenRefusal('invalid_request'));
  expect(outcomeOf(await request(service).post(TOKEN_PATH))).toEqual(tokenRefusal('invalid_request'));
  expect(outcomeOf(await request(service).post(TOKEN_PATH).send(refresh))).toEqual(
    tokenRefusal('invalid_request'),
  );
});

test('7 invalid_client, unknown client: no such `client_id`', async () => {
  for (const client_id of ['other-app', 'DEMO-APP', 'demo-appü']) {
    expect(await post({ ...refresh, client_id })).toEqual(tokenRefusal('invalid_client'));
    expect(await post(codeFields('a-code', { client_id }))).toEqual(tokenRefusal('invalid_client'));
  }
});

test('7 invalid_client, wrong secret: not the secret of this client', async () => {
  for (const client_secret of ['wrong', 'DEMO-SECRET', 'demo-secret ', 'demo-secretü']) {
    expect(await post({ ...refresh, client_secret })).toEqual(tokenRefusal('invalid_client'));
    expect(await post(codeFields('a-code', { client_secret }))).toEqual(tokenRefusal('invalid_client'));
  }
});

test('7 invalid_client, no authentication: id or secret is not included', async () => {
  for (const fields of [
    refresh,
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
  const { client_id = '', client_secret = '', ...grant } = refresh;
  for (const fields of [grant, refresh]) {
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
    expect(await post({ ...refresh, grant_type })).toEqual(tokenRefusal('unsupported_grant_type'));
  }
});
