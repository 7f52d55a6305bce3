import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { apiRefusal, outcomeOf } from '../support/local-service/answers.ts';
import { idsOn, walk } from '../support/local-service/list-walk.ts';
import type { AnyPage } from '../support/local-service/list-walk.ts';
import { openBench } from '../support/local-service/service-under-test.ts';
import type { Bench } from '../support/local-service/service-under-test.ts';
import { callApi, newTokens } from '../support/local-service/token-calls.ts';

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

const get = (path: string) => callApi(service, path, token);

describe('a limit is a whole number from 1 to 100', () => {
  test.each(['1000', '0x10', '007', '%20 5', '5%00', '٣', 'NaN'])('"%s" is refused', async (limit) => {
    const res = await get(`/workspaces?limit=${encodeURI(limit).replaceAll('%25', '%')}`);
    expect(outcomeOf(res)).toEqual(apiRefusal(400, 'LIMIT_INVALID'));
  });

  test('a repeated one is refused', async () => {
    expect(outcomeOf(await get('/workspaces?limit=5&limit=5'))).toEqual(apiRefusal(400, 'LIMIT_INVALID'));
  });
});

test('every mural is in a room of its workspace', async () => {
  const ids = idsOn(await walk(service, '/workspaces', token, 100)).map(String);
  for (const id of ids.slice(0, 10)) {
    const rooms = new Set(idsOn(await walk(service, `/workspaces/${id}/rooms`, token)));
    for (const page of await walk(service, `/workspaces/${id}/murals`, token)) {
      for (const mural of page.value) expect(rooms).toContain(mural['roomId']);
    }
  }
});

test('a single workspace comes in an envelope of its own, with who made it', async () => {
  const [listed] = ((await get('/workspaces?limit=1')).body as AnyPage).value;
  const res = await get(`/workspaces/${String(listed?.['id'])}`);
  expect(res.body).toEqual({
    value: { ...listed, createdBy: expect.objectContaining({ id: expect.any(String) }) },
  });
  expect(listed).not.toHaveProperty('createdBy');
});
