import { afterEach, beforeEach, expect, test } from '@jest/globals';
import request from 'supertest';
import { createLog } from '../../../src/observability/logger.ts';
import type { RedisClient } from '../../../src/redis/client.ts';
import { createEncryption } from '../../../src/session/encryption.ts';
import { createPageTokens } from '../../../src/workspaces/cursors.ts';
import { json } from '../../support/raw-service.ts';
import { IDLE_SECONDS, startBrowserApp, startOwnRedis } from './browser-app.ts';
import type { OwnRedis } from './browser-app.ts';
import { startSmallService, workspaces } from './small-service.ts';

let own: OwnRedis;
let redis: RedisClient;

// One for each test: some fill it, some leave it.
beforeEach(async () => {
  own = await startOwnRedis();
  ({ redis } = own);
});
afterEach(async () => own[Symbol.asyncDispose]());

test('The tokens of a list stand in one key, its name in another, and both end with the idle time', async () => {
  await using service = await startSmallService(workspaces(137));
  await using app = await startBrowserApp({ serviceOrigin: service.origin, redis });
  await request(app.server).get('/workspaces?page=4').expect(200);
  const keys = (await redis.keys('*')).toSorted((a, b) => a.localeCompare(b));
  expect(keys).toEqual([
    expect.stringMatching(/^test:lists:\{test:session:[\w-]{43}\}$/),
    expect.stringMatching(/^test:pages:\{test:session:[\w-]{43}\}:[\w-]{43}$/),
  ]);
  expect(await pagesAt(keys[1] ?? '')).toEqual([2, 3, 4, 5]);
  for (const key of keys) {
    const seconds = await redis.ttl(key);
    expect(seconds).toBeGreaterThan(IDLE_SECONDS - 10);
    expect(seconds).toBeLessThanOrEqual(IDLE_SECONDS);
  }
});

test('Neither a token nor the session id can be read in Redis', async () => {
  await using service = await startSmallService(workspaces(137));
  await using app = await startBrowserApp({ serviceOrigin: service.origin, redis });
  await request(app.server).get('/workspaces?page=2').set('x-test-session', 'the-session-id').expect(200);
  const [key = ''] = await redis.keys('test:pages:*');
  const all = JSON.stringify([key, await redis.hgetall(key)]);
  expect(service.given).toHaveLength(2);
  for (const secret of [...service.given, 'the-session-id']) {
    expect(all).not.toContain(secret);
    expect(all).not.toContain(Buffer.from(secret).toString('base64url'));
  }
});

test('A value that was moved to another page is not taken', async () => {
  await using service = await startSmallService(workspaces(137));
  await using app = await startBrowserApp({ serviceOrigin: service.origin, redis });
  await request(app.server).get('/workspaces?page=4').expect(200);
  const [key = ''] = await redis.keys('test:pages:*');
  await redis.hset(key, '2', (await redis.hget(key, '5')) ?? '');
  const page = await request(app.server).get('/workspaces?page=2').expect(200);
  expect(page.text).toContain('Items 26–50');
});

test('A list of one page needs no Redis of its own', async () => {
  await using service = await startSmallService(workspaces(3));
  await using app = await startBrowserApp({ serviceOrigin: service.origin, redis });
  redis.disconnect();
  const page = await request(app.server).get('/workspaces');
  expect(page.status).toBe(200);
});

test('With Redis full every page still shows', async () => {
  await redis.config('SET', 'maxmemory-policy', 'noeviction');
  await redis.config('SET', 'maxmemory', '1');
  await using service = await startSmallService(workspaces(137));
  await using app = await startBrowserApp({ serviceOrigin: service.origin, redis });
  for (const [page, range] of [
    ['1', '1–25'],
    ['2', '26–50'],
    ['3', '51–75'],
  ]) {
    const answer = await request(app.server).get(`/workspaces?page=${page}`).expect(200);
    expect(answer.text).toContain(`Items ${range}`);
  }
  expect(await redis.dbsize()).toBe(0);
});

test('With Redis away a later page is a 503 that says nobody is signed out', async () => {
  await using service = await startSmallService(workspaces(137));
  await using app = await startBrowserApp({ serviceOrigin: service.origin, redis });
  redis.disconnect();
  const address = '/workspaces?page=2';
  const page = await request(app.server).get(address).expect(503).expect('retry-after', '2');
  expect(page.text).toContain('no one is signed out');
  expect(page.text).toContain(`<a class="button button--primary" href="${address}">Try again</a>`);
  expect(page.headers['set-cookie']).toBeUndefined();
});

test('A page that was read shows, though Redis went away before its tokens could be kept', async () => {
  await using service = await startSmallService(workspaces(137), (_call, _socket, nth) => {
    if (nth === 2) redis.disconnect();
    return false;
  });
  const warnings = collectWarnings();
  await using app = await startBrowserApp({ serviceOrigin: service.origin, redis, log: warnings.log });
  const page = await request(app.server).get('/workspaces?page=2').expect(200);
  expect(page.text).toContain('Items 26–50');
  expect(warnings.lines).toEqual([expect.stringContaining('page tokens not kept')]);
});

test('An error of the service stays what it is, though Redis went away meanwhile', async () => {
  await using service = await startSmallService(workspaces(137), (_call, _socket, nth) => {
    if (nth < 2) return false;
    redis.disconnect();
    return json(403, {});
  });
  await using app = await startBrowserApp({ serviceOrigin: service.origin, redis });
  const page = await request(app.server).get('/workspaces?page=2').expect(403);
  expect(page.text).toContain('Cloakroom may not show you this list');
});

function collectWarnings() {
  const lines: string[] = [];
  const write = (line: string) => void lines.push(line);
  return { lines, log: createLog('warn', { write }) };
}

test('Of endless tokens a walk keeps the last that fit into 128 KiB: how much a session holds does not follow the service', async () => {
  const long = (nth: number) => `${nth}`.padStart(8_000, '0');
  await using service = await startSmallService([], ({ next }) => {
    const nth = Number(next ?? 0) + 1;
    return json(200, { value: [{ name: `Workspace ${nth}` }], next: long(nth) });
  });
  await using app = await startBrowserApp({ serviceOrigin: service.origin, redis });
  await request(app.server).get('/workspaces?page=30').expect(200);
  const [key = ''] = await redis.keys('test:pages:*');
  expect(await pagesAt(key)).toEqual(Array.from({ length: 12 }, (_, nth) => 20 + nth));
  service.calls.length = 0;
  const page = await request(app.server).get('/workspaces?page=31').expect(200);
  expect(page.text).toContain('Workspace 31<');
  expect(service.calls).toHaveLength(1);
});

const list = (path: string) => ({ sessionId: 'a-session', path, limit: 25 });
const marks = (...pages: number[]) =>
  new Map(pages.map((page) => [page, { next: `to ${page}`, before: 25 }]));

function pageTokensOf() {
  const encryption = createEncryption({ current: [Buffer.alloc(32, 7)] });
  return createPageTokens({ redis, encryption, prefix: 'test:', idleSeconds: 60, log: createLog('silent') });
}

test('A session has 32 lists at most: the one used longest ago is forgotten, others are none of its business', async () => {
  const pageTokens = pageTokensOf();
  await pageTokens.remember({ ...list('/0'), sessionId: 'another' }, marks(2));
  for (let nth = 0; nth < 32; nth += 1) await pageTokens.remember(list(`/${nth}`), marks(2));
  await pageTokens.remember(list('/0'), marks(3)); // in use again
  await pageTokens.remember(list('/32'), marks(2));
  const isKnown = async (path: string) => (await pageTokens.nearest(list(path), 2)) !== null;
  expect(await isKnown('/1')).toBe(false);
  for (const nth of [0, 2, 31, 32]) expect(await isKnown(`/${nth}`)).toBe(true);
  expect(await pageTokens.nearest({ ...list('/0'), sessionId: 'another' }, 2)).not.toBeNull();
  expect(await redis.keys('test:pages:*')).toHaveLength(32 + 1);
});

const long = (page: number, next = 'x'.repeat(8_000)) => new Map([[page, { next, before: 25 }]]);

test('A list that outgrows 256 KiB gives up the pages that are furthest, be they before or behind', async () => {
  const pageTokens = pageTokensOf();
  for (let page = 2; page < 26; page += 1) await pageTokens.remember(list('/'), long(page));
  const [key = ''] = await redis.keys('test:pages:*');
  expect(await pagesAt(key)).toHaveLength(24);
  await pageTokens.remember(list('/'), new Map([...long(26), ...marks(27)]));
  const kept = Array.from({ length: 18 }, (_, nth) => 9 + nth);
  expect(await pagesAt(key)).toEqual([...kept, 27]);
  expect(await pageTokens.nearest(list('/'), 26)).toMatchObject({ page: 26 });
  expect(await pageTokens.nearest(list('/'), 28)).toMatchObject({ page: 27 });
  expect(await redis.ttl(key)).toBeGreaterThan(0);
  for (let page = 8; page > 1; page -= 1) await pageTokens.remember(list('/'), long(page));
  expect(await pagesAt(key)).toEqual(expect.arrayContaining([2, 3, 4, 9]));
  expect(await pagesAt(key)).not.toContain(26);
  expect(await bytesAt(key)).toBeLessThan(262_144 + 10);
});

test('Far into a list of long tokens the page that one stands on and those around it stay known', async () => {
  await using service = await startSmallService([], ({ next }) => {
    const nth = Number(next ?? 0) + 1;
    return json(200, { value: [{ name: `Workspace ${nth}` }], next: `${nth}`.padStart(1_000, '0') });
  });
  // A walk ends after ten seconds: of 190 calls this one is to have them all.
  await using app = await startBrowserApp({ serviceOrigin: service.origin, redis, now: () => 0 });
  await request(app.server).get('/workspaces?page=190').expect(200);
  await request(app.server).get('/workspaces?page=191').expect(200);
  for (const page of [191, 190, 189]) {
    service.calls.length = 0;
    const answer = await request(app.server).get(`/workspaces?page=${page}`).expect(200);
    expect(answer.text).toContain(`Workspace ${page}<`);
    expect(service.calls).toHaveLength(1);
  }
});

test('A page that is visited again and again takes its bytes once', async () => {
  const pageTokens = pageTokensOf();
  await pageTokens.remember(list('/'), marks(2));
  for (let nth = 0; nth < 30; nth += 1) await pageTokens.remember(list('/'), long(3));
  const [key = ''] = await redis.keys('test:pages:*');
  expect(await pagesAt(key)).toEqual([2, 3]);
});

test('However long a token becomes once it is encrypted, a list takes no more than 256 KiB', async () => {
  const pageTokens = pageTokensOf();
  const longest = '\u0001'.repeat(8_192);
  const eight = [2, 3, 4, 5, 6, 7, 8, 9].map((page) => [page, { next: longest, before: 25 }] as const);
  await pageTokens.remember(list('/'), new Map(eight));
  const [key = ''] = await redis.keys('test:pages:*');
  expect(await pagesAt(key)).toEqual([9]);
  for (const page of [10, 11, 12, 13]) {
    await pageTokens.remember(list('/'), long(page, longest));
    expect(await bytesAt(key)).toBeLessThan(262_144 + 10);
  }
  expect(await pagesAt(key)).toContain(12);
});

async function pagesAt(key: string): Promise<number[]> {
  const fields = await redis.hkeys(key);
  return fields
    .filter((field) => field !== 'bytes')
    .map(Number)
    .toSorted((a, b) => a - b);
}

async function bytesAt(key: string): Promise<number> {
  return Buffer.byteLength((await redis.hvals(key)).join(''));
}
