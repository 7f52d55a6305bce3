import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { apiRefusal, outcomeOf } from '../support/local-service/answers.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import { callApi, newTokens, postToken, refreshFields } from '../support/local-service/token-calls.ts';
import type { TokenAnswer } from '../support/local-service/token-calls.ts';

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

test('the new token may not be stored', async () => {
  const { refresh_token } = await newTokens(service);
  const res = await refresh(service, refresh_token);
  expect(res.status).toBe(200);
  expect(res.get('cache-control')).toBe('no-store');
});

test('the new access token has the same scopes', async () => {
  const { refresh_token } = await newTokens(service, 'room:write');
  const { access_token } = (await refresh(service, refresh_token)).body as TokenAnswer;
  const res = await callApi(service, '/workspaces', access_token);
  expect(outcomeOf(res)).toEqual(apiRefusal(403, 'INVALID_SCOPE'));
});

test('a refresh does not end the access token before it', async () => {
  for (const server of [service, rotating]) {
    const { access_token, refresh_token } = await newTokens(server);
    expect((await refresh(server, refresh_token)).status).toBe(200);
    expect((await callApi(server, '/workspaces', access_token)).status).toBe(200);
  }
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
