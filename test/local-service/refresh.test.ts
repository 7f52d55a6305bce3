import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openBench } from './service-under-test.ts';
import type { Bench } from './service-under-test.ts';
import { callApi, newTokens, postToken, refreshFields } from './token-calls.ts';
import type { TokenAnswer } from './token-calls.ts';

let bench: Bench;
let service: Server;
let rotating: Server;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start();
  rotating = await bench.start({ rotateRefresh: true });
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const refresh = (server: Server, token: string) => postToken(server, refreshFields(token));

test('a refresh answers with exactly the fields of the interface', async () => {
  const { refresh_token } = await newTokens(service);
  const res = await refresh(service, refresh_token);
  expect(res.status).toBe(200);
  expect(res.body).toEqual({ access_token: expect.stringMatching(/^[\w-]{43}$/), expires_in: 900 });
  expect(res.get('cache-control')).toBe('no-store');
});

test('the new access token works, under the same scopes', async () => {
  const { refresh_token } = await newTokens(service, 'room:write');
  const { access_token } = (await refresh(service, refresh_token)).body as TokenAnswer;
  expect((await callApi(service, '/workspaces', access_token)).status).toBe(403);
});

test('a refresh token can be used again and again', async () => {
  const { refresh_token } = await newTokens(service);
  const tokens = new Set<string>();
  for (let use = 0; use < 20; use += 1) {
    const res = await refresh(service, refresh_token);
    tokens.add((res.body as TokenAnswer).access_token);
  }
  expect(tokens.size).toBe(20);
});

test('a refresh works long after the access token has expired', async () => {
  const { access_token, refresh_token } = await newTokens(service);
  bench.clock.time += 40 * 86_400_000;
  expect((await callApi(service, '/workspaces', access_token)).status).toBe(401);
  const renewed = (await refresh(service, refresh_token)).body as TokenAnswer;
  expect((await callApi(service, '/workspaces', renewed.access_token)).status).toBe(200);
});

test('a refresh does not end the access token before it', async () => {
  const { access_token, refresh_token } = await newTokens(service);
  await refresh(service, refresh_token);
  expect((await callApi(service, '/workspaces', access_token)).status).toBe(200);
});

test('an unknown refresh token is refused', async () => {
  const res = await refresh(service, 'never-issued');
  expect(res.status).toBe(400);
  expect(res.body).toEqual({ error: 'invalid_grant', error_description: expect.any(String) });
});

test('a refresh token of another client is refused, and stays good for its own', async () => {
  const other = await bench.start({ clientId: 'other-app' });
  const { refresh_token } = await newTokens(service);
  const res = await postToken(other, refreshFields(refresh_token, { client_id: 'other-app' }));
  expect(res.status).toBe(400);
  expect(res.body).toMatchObject({ error: 'invalid_grant' });
  expect((await refresh(service, refresh_token)).status).toBe(200);
});

test('a refresh token ends 90 days after its last use', async () => {
  const days = (count: number) => count * 86_400_000;
  const { refresh_token } = await newTokens(service);
  bench.clock.time += days(89);
  expect((await refresh(service, refresh_token)).status).toBe(200);
  bench.clock.time += days(89);
  expect((await refresh(service, refresh_token)).status).toBe(200);
  bench.clock.time += days(90);
  const res = await refresh(service, refresh_token);
  expect(res.status).toBe(400);
  expect(res.body).toMatchObject({ error: 'invalid_grant' });
});

test('an access token is no refresh token', async () => {
  const { access_token } = await newTokens(service);
  expect((await refresh(service, access_token)).body).toMatchObject({ error: 'invalid_grant' });
});

test('with rotation a refresh gives a new refresh token and ends the old one', async () => {
  const { refresh_token } = await newTokens(rotating);
  const res = await refresh(rotating, refresh_token);
  expect(Object.keys(res.body as object)).toEqual(['access_token', 'expires_in', 'refresh_token']);
  const renewed = (res.body as TokenAnswer).refresh_token;
  expect(renewed).not.toBe(refresh_token);
  expect((await refresh(rotating, refresh_token)).body).toMatchObject({ error: 'invalid_grant' });
  expect((await refresh(rotating, renewed)).status).toBe(200);
});

test('with rotation, of fifty refreshes at once, one wins, and what it got works', async () => {
  const { refresh_token } = await newTokens(rotating);
  const second = await bench.start({ rotateRefresh: true });
  const answers = await Promise.all(
    Array.from({ length: 50 }, (_, index) => refresh(index % 2 ? rotating : second, refresh_token)),
  );
  const won = answers.filter((res) => res.status === 200);
  expect(won).toHaveLength(1);
  const [{ access_token, refresh_token: renewed }] = won.map((res) => res.body as TokenAnswer) as [
    TokenAnswer,
  ];
  expect((await callApi(rotating, '/workspaces', access_token)).status).toBe(200);
  expect((await refresh(rotating, renewed)).status).toBe(200);
});
