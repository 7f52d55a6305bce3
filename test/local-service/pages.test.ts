import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import request from 'supertest';
import { WORKSPACES_PATH } from '../support/constants.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';

let bench: Bench;
let service: Server;
beforeAll(async () => {
  bench = await openBench();
  service = await bench.start();
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
});

test('the front page says what this is', async () => {
  const res = await request(service).get('/');
  expect(res.status).toBe(200);
  expect(res.text).toContain('The local service is running');
});

test('the pages’ stylesheet is served', async () => {
  const res = await request(service).get('/local-service.css');
  expect(res.status).toBe(200);
  expect(res.type).toBe('text/css');
});

test('it tells that it is healthy', async () => {
  expect((await request(service).get('/healthz')).body).toEqual({ status: 'ok' });
});

test('what isn’t there is a page outside the API, and JSON inside it', async () => {
  const outside = await request(service).get('/nowhere');
  expect([outside.status, outside.type]).toEqual([404, 'text/html']);
  expect(outside.text.match(/There is nothing at this path/g)).toHaveLength(2); // its title and its heading
  const inside = await request(service).get('/api/nowhere');
  expect([inside.status, inside.type]).toEqual([404, 'application/json']);
});

test('an answer without a validator is given whatever it is compared with', async () => {
  for (const path of ['/', '/healthz']) {
    expect((await request(service).get(path).set('if-none-match', '*')).status).toBe(200);
  }
});

test('every answer has a request id', async () => {
  for (const path of ['/', '/nowhere', WORKSPACES_PATH]) {
    expect((await request(service).get(path)).get('x-request-id')).toMatch(/^[\da-f-]{36}$/);
  }
});
