import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { idsOn, walk } from './list-walk.ts';
import type { AnyPage } from './list-walk.ts';
import { openBench } from './service-under-test.ts';
import type { Bench } from './service-under-test.ts';
import { callApi, newTokens } from './token-calls.ts';

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

test('without a limit a page of workspaces has 25, and the last one the rest', async () => {
  const pages = await walk(service, '/workspaces', token);
  expect(pages.map((page) => page.value.length)).toEqual([25, 25, 25, 25, 25, 12]);
});

test('all pages together hold each workspace once', async () => {
  expect(new Set(idsOn(await walk(service, '/workspaces', token, 10))).size).toBe(137);
});

test('the last page has no next at all', async () => {
  const [last] = (await walk(service, '/workspaces', token, 100)).slice(-1);
  expect(Object.keys(last ?? {})).toEqual(['value']);
});

test('a page that ends exactly with the list has no next', async () => {
  const exact = await bench.start({ workspaces: 50 });
  expect(await walk(exact, '/workspaces', token, 25)).toHaveLength(2);
});

test('an empty list is one empty page', async () => {
  const empty = await bench.start({ workspaces: 0 });
  expect((await callApi(empty, '/workspaces', token)).body).toEqual({ value: [] });
});

describe('a limit is a whole number from 1 to 100', () => {
  test.each(['1', '100'])('%s is taken', async (limit) => {
    const res = await get(`/workspaces?limit=${limit}`);
    expect((res.body as AnyPage).value).toHaveLength(Number(limit));
  });

  test.each(['0', '-1', '101', '1000', '1.5', '1e1', '0x10', '007', 'ten', '', '%20 5', '5%00', '٣', 'NaN'])(
    '"%s" is refused',
    async (limit) => {
      const res = await get(`/workspaces?limit=${encodeURI(limit).replaceAll('%25', '%')}`);
      expect(res.status).toBe(400);
      expect(res.body).toEqual({ code: 'LIMIT_INVALID', message: expect.any(String), details: [] });
    },
  );

  test('a repeated one is refused', async () => {
    expect((await get('/workspaces?limit=5&limit=5')).body).toMatchObject({ code: 'LIMIT_INVALID' });
  });
});

test('rooms and murals of a workspace are paged the same way', async () => {
  const ids = idsOn(await walk(service, '/workspaces', token, 100)).map(String);
  for (const kind of ['rooms', 'murals']) {
    const counts = new Set<number>();
    for (const id of ids.slice(0, 8)) {
      const whole = idsOn(await walk(service, `/workspaces/${id}/${kind}`, token));
      expect(idsOn(await walk(service, `/workspaces/${id}/${kind}`, token, 7))).toEqual(whole);
      expect(new Set(whole).size).toBe(whole.length);
      counts.add(whole.length);
    }
    expect(counts.size).toBeGreaterThan(3);
  }
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

test('an answer is the same bytes from a second process', async () => {
  const second = await bench.start();
  const path = '/workspaces?limit=100&unknown=ignored';
  const value = (res: { body: unknown }) => (res.body as AnyPage).value;
  expect(value(await callApi(second, path, token))).toEqual(value(await get(path)));
});
