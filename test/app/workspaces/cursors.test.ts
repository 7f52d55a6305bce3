import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { createLog } from '../../../src/observability/logger.ts';
import type { RedisClient } from '../../../src/redis/client.ts';
import { createEncryption } from '../../../src/session/encryption.ts';
import { createCursors } from '../../../src/workspaces/cursors.ts';
import { json } from '../../support/raw-service.ts';
import { IDLE_SECONDS, startOwnRedis, startWithService } from './browser-app.ts';
import { workspaces } from './small-service.ts';

let own: Awaited<ReturnType<typeof startOwnRedis>>;
let redis: RedisClient;

// Each test has its own Redis, because some tests fill it or disconnect from it.
beforeEach(async () => {
  own = await startOwnRedis();
  ({ redis } = own);
});
afterEach(async () => own[Symbol.asyncDispose]());

test('the cursors of a list and the index of lists have separate keys, and both keys expire with the session', async () => {
  await using app = await startWithService(redis, workspaces(137));
  await app.get('/workspaces?page=4', 200);
  const keys = (await redis.keys('*')).toSorted();
  expect(keys).toEqual([
    expect.stringMatching(/^test:cursor-lists:\{test:session:[\w-]{43}\}$/),
    expect.stringMatching(/^test:cursors:\{test:session:[\w-]{43}\}:[\w-]{43}$/),
  ]);
  for (const key of keys) {
    const seconds = await redis.ttl(key);
    expect(seconds).toBeGreaterThan(IDLE_SECONDS - 10);
    expect(seconds).toBeLessThanOrEqual(IDLE_SECONDS);
  }
});

test('cursors copied from another list are not used', async () => {
  await using app = await startWithService(redis, workspaces(137));
  await app.get('/workspaces?page=3', 200);
  const [moved = ''] = await redis.keys('test:cursors:*');
  await app.get('/workspaces?page=3&limit=50', 200);
  const other = (await redis.keys('test:cursors:*')).find((key) => key !== moved) ?? '';
  await redis.copy(other, moved, 'REPLACE');
  app.service.requests.length = 0;
  const page = await app.get('/workspaces?page=2', 200);
  expect(page.text).toContain('Workspaces 26–50');
  expect(app.service.requests).toHaveLength(2); // seeking starts at the first page
});

test('a list with a single page does not need cursors', async () => {
  await using app = await startWithService(redis, workspaces(3));
  redis.disconnect();
  expect((await app.get('/workspaces', 200)).text).toContain('Workspaces 1–3');
});

test('while Redis is full, every page is still shown', async () => {
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  await redis.config('SET', 'maxmemory', '1');
  await using app = await startWithService(redis, workspaces(137));
  for (const [index, range] of ['1–25', '26–50', '51–75'].entries())
    expect((await app.get(`/workspaces?page=${index + 1}`, 200)).text).toContain(`Workspaces ${range}`);
  expect(await redis.dbsize()).toBe(0);
});

test('while Redis is down, a later page gets a 503 that keeps the session', async () => {
  await using app = await startWithService(redis, workspaces(137));
  redis.disconnect();
  const url = '/workspaces?page=2';
  const page = await app.get(url, 503);
  expect(page.headers['retry-after']).toBe('2');
  expect(page.text).toContain('If you were signed in, you still are');
  expect(page.text).toContain(`<a class="button button--primary" href="${url}">Try again</a>`);
  expect(page.headers['set-cookie']).toBeUndefined();
});

test('a page is shown even if Redis goes down before its cursors are stored', async () => {
  const lines: string[] = [];
  const log = createLog('warn', { write: (line: string) => void lines.push(line) });
  await using app = await startWithService(
    redis,
    workspaces(137),
    (_request, _socket, nth) => {
      if (nth === 2) redis.disconnect();
      return false;
    },
    { log },
  );
  const page = await app.get('/workspaces?page=2', 200);
  expect(page.text).toContain('Workspaces 26–50');
  expect(lines).toEqual([expect.stringContaining('page cursors not stored')]);
});

test('an error from the service is shown even if Redis goes down in the meantime', async () => {
  await using app = await startWithService(redis, workspaces(137), (_request, _socket, nth) => {
    if (nth < 2) return false;
    redis.disconnect();
    return json(403, {});
  });
  const page = await app.get('/workspaces?page=2', 403);
  expect(page.text).toContain('You don’t have access to this list');
});

const MAX_BYTES = 131_072 + 200;
const list = (path: string) => ({ sessionId: 'a-session', path, limit: 25 });
const startOf = (page: number, cursor = `to ${page}`) => ({ page, cursor, before: 25 });

function createTestCursors() {
  const encryption = createEncryption({ current: [Buffer.alloc(32, 7)] });
  return createCursors({ redis, encryption, prefix: 'test:', idleSeconds: 60, log: createLog('silent') });
}

test('a session keeps the cursors of its 32 most recently used lists, and other sessions keep theirs', async () => {
  const cursors = createTestCursors();
  await cursors.add({ ...list('/0'), sessionId: 'another' }, [startOf(2)]);
  for (let nth = 0; nth < 32; nth += 1) await cursors.add(list(`/${nth}`), [startOf(2)]);
  await cursors.add(list('/0'), [startOf(3)]); // makes this list the most recently used
  await cursors.add(list('/32'), [startOf(2)]);
  const isKnown = async (path: string) => (await cursors.nearest(list(path), 2)) !== null;
  expect(await isKnown('/1')).toBe(false);
  for (const nth of [0, 2, 31, 32]) expect(await isKnown(`/${nth}`)).toBe(true);
  expect(await cursors.nearest({ ...list('/0'), sessionId: 'another' }, 2)).not.toBeNull();
  expect(await redis.keys('test:cursors:*')).toHaveLength(32 + 1);
});

test('a list over its size limit drops the cursors furthest from the page just added, in either direction', async () => {
  const cursors = createTestCursors();
  const nearest = async (page: number) => (await cursors.nearest(list('/'), page))?.page;
  for (let page = 2; page < 26; page += 1) await cursors.add(list('/'), [startOf(page, 'x'.repeat(8_000))]);
  expect(await nearest(13)).toBeUndefined();
  expect(await nearest(14)).toBe(14);
  expect(await nearest(99)).toBe(25);
  for (let page = 13; page > 1; page -= 1) await cursors.add(list('/'), [startOf(page, 'x'.repeat(8_000))]);
  expect(await nearest(2)).toBe(2);
  expect(await nearest(99)).toBe(13);
});

test('a cursor of maximum length fits, even though JSON and encryption lengthen it', async () => {
  const cursors = createTestCursors();
  const longest = '\u0001'.repeat(8_192);
  for (const page of [9, 10, 11, 12]) await cursors.add(list('/'), [startOf(page, longest)]);
  const [key = ''] = await redis.keys('test:cursors:*');
  expect(await redis.strlen(key)).toBeLessThan(MAX_BYTES);
  expect(await cursors.nearest(list('/'), 20)).toEqual(startOf(12, longest));
});
