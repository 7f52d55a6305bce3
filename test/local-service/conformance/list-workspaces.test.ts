import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { apiRefusal, outcomeOf, success } from '../../support/local-service/answers.ts';
import type { AnyPage } from '../../support/local-service/list-walk.ts';
import { openBench } from '../../support/local-service/service-under-test.ts';
import type { Bench } from '../../support/local-service/service-under-test.ts';
import { callApi, newTokens } from '../../support/local-service/token-calls.ts';

const WORKSPACES = '/api/public/v1/workspaces';
const AN_ITEM: unknown = expect.objectContaining({ id: expect.any(String) });

let bench: Bench;
let service: Server;
let token: string;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start();
  token = (await newTokens(service)).access_token;
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

const list = (query: string, server = service) => callApi(server, `/workspaces?${query}`, token);
const pageOf = async (query: string) => (await list(query)).body as AnyPage;
const items = (count: number): unknown[] => Array.from({ length: count }, () => AN_ITEM);

test('2 list value: `value` is an array of the page’s items, and always there', async () => {
  expect(await pageOf('limit=3')).toEqual({ value: items(3), next: expect.any(String) });
  const empty = await bench.start({ workspaces: 0 });
  expect(outcomeOf(await list('', empty))).toEqual(success({ value: [] }));
});

test('2 list next: `next` is an opaque string; it is absent where no page follows', async () => {
  const { next = '' } = await pageOf('limit=100');
  expect(next).toMatch(/^.{20,}$/);
  const last = await pageOf(`limit=100&next=${encodeURIComponent(next)}`);
  expect(last).toEqual({ value: items(37) });
  for (const guess of ['', '2', '100', next.slice(1), next.toLowerCase()]) {
    const res = await list(`limit=100&next=${encodeURIComponent(guess)}`);
    expect(outcomeOf(res)).toEqual(apiRefusal(400, 'PAGINATION_INVALID'));
  }
});

test('4.4 method and path: `GET /api/public/v1/workspaces`', async () => {
  const call = (method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string) =>
    request(service)[method](path).set('authorization', `Bearer ${token}`);
  for (const method of ['post', 'put', 'patch', 'delete'] as const) {
    expect(outcomeOf(await call(method, WORKSPACES))).toEqual(apiRefusal(405, 'METHOD_NOT_ALLOWED'));
  }
  for (const path of [`${WORKSPACES}/`, '/api/public/v1/Workspaces', '/api/public/v1/workspace']) {
    expect(outcomeOf(await call('get', path))).toEqual(apiRefusal(404, 'PATH_NOT_FOUND'));
  }
  expect((await call('get', WORKSPACES)).status).toBe(200);
});

test('4.4 header: `Authorization: Bearer <ACCESS_TOKEN>`', async () => {
  const send = async (headers: Record<string, string>) =>
    outcomeOf(await request(service).get(WORKSPACES).set(headers));
  expect(await send({})).toEqual(apiRefusal(401, 'UNAUTHORIZED'));
  for (const authorization of [token, 'Bearer', `Basic ${token}`, `Bearer ${token} ${token}`]) {
    expect(await send({ authorization })).toEqual(apiRefusal(401, 'UNAUTHORIZED'));
  }
  expect(await send({ authorization: 'Bearer never-issued' })).toEqual(apiRefusal(401, 'TOKEN_INVALID'));
  expect(await send({ authorization: `Bearer ${token}` })).toMatchObject({ status: 200 });
});

test('4.4 limit: optional whole number: the most items on a page; the default is 100 or fewer', async () => {
  for (const limit of [1, 7, 100]) expect((await pageOf(`limit=${limit}`)).value).toEqual(items(limit));
  const few = await bench.start({ workspaces: 4 });
  expect(outcomeOf(await list('limit=5', few))).toEqual(success({ value: items(4) }));
  for (const limit of ['', '0', '-1', '1.5', 'ten', '1e1', '101']) {
    expect(outcomeOf(await list(`limit=${limit}`))).toEqual(apiRefusal(400, 'LIMIT_INVALID'));
  }
  expect((await pageOf('')).value).toEqual(items(25));
});

test('4.4 next: optional; the token of the response before', async () => {
  const first = await pageOf('limit=2');
  const second = await pageOf(`limit=2&next=${first.next}`);
  expect([...first.value, ...second.value]).toEqual((await pageOf('limit=4')).value);
});

test('4.4 response: the list envelope', async () => {
  expect(outcomeOf(await list('limit=2'))).toEqual(success({ value: items(2), next: expect.any(String) }));
  const two = await bench.start({ workspaces: 2 });
  expect(outcomeOf(await list('limit=2', two))).toEqual(success({ value: items(2) }));
});
