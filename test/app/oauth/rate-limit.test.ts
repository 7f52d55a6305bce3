import { createHash, createHmac, getHashes, hkdfSync, randomBytes } from 'node:crypto';
import { afterAll, expect, test } from '@jest/globals';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { createLocalCounts, createSignInCounts } from '../../../src/oauth/rate-limit.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { closeRedis, createRedis, redisReady, type RedisClient } from '../../../src/redis/client.ts';
import { ACCEPT_HTML as HTML } from '../../support/constants.ts';
import { send, closeConnections, tally, type FleetResponse } from '../../support/fleet/requests.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import { untilReady } from '../../support/fleet/cloakroom.ts';
import { startRedisServer } from '../../support/fleet/redis-server.ts';
import { startRedisProxy } from '../../support/fleet/redis-proxy.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { eventually } from '../../support/eventually.ts';
import { startCluster } from '../../support/redis/cluster.ts';

const LOGIN_PATH = '/auth/login';
const COUNT_KEYS = 'cloakroom:sign-in-counts:*';

afterAll(closeConnections);

/** Starts a sign-in with these additional headers. */
const signIn = async (origin: string, headers: Readonly<Record<string, string>> = {}) =>
  send(origin, '', { path: LOGIN_PATH, headers: { ...HTML, ...headers } });

/** Starts sign-ins one after another and resolves with the responses. */
async function signInTimes(count: number, origin: string): Promise<FleetResponse[]> {
  const responses = [];
  for (let at = 0; at < count; at += 1) responses.push(await signIn(origin));
  return responses;
}

const statusesOf = async ({ origin }: TestApp, count: number) =>
  (await signInTimes(count, origin)).map(({ status }) => status);

test('a sign-in above the limit gets a 429 page that shows how long to wait', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '2' });
  const began = Date.now();
  expect(await statusesOf(testApp, 2)).toEqual([302, 302]);
  // Wait until rounding the remaining time to the nearest second would round it down.
  const leftMs = () => began + 600_000 - Date.now();
  await eventually(async () => leftMs() % 1_000 > 100 && leftMs() % 1_000 < 400);
  const { status, headers, body } = await signIn(testApp.origin);
  expect(status).toBe(429);
  expect(headers['content-type']).toMatch(/^text\/html/);
  // Retry-After is rounded up to whole seconds, so a client that obeys it retries in the next window.
  expect(Number(headers['retry-after']) * 1_000).toBeGreaterThanOrEqual(leftMs());
  expect(Number(headers['retry-after'])).toBeLessThanOrEqual(600);
  expect(body).toContain('Too many sign-in attempts');
  expect(body).toContain('10 minutes');
  expect(Object.keys(headers).filter((name) => /ratelimit/.test(name))).toEqual([]);
});

test('reaching the limit is logged once per window', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '1' });
  await statusesOf(testApp, 4);
  const lines = testApp.logged.filter((line) => line.includes('sign-in limit reached'));
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({ level: 'warn', client: '127.0.0.1', requestId: expect.any(String) }),
  ]);
});

test('Redis stores a client address only as a keyed hash, with a separate key derived from the session key', async () => {
  await using testApp = await startTestApp();
  await signIn(testApp.origin);
  const [key = '', ...more] = await testApp.redis.keys(COUNT_KEYS);
  expect(more).toEqual([]);
  expect(key).toMatch(/^cloakroom:sign-in-counts:[\w-]{43}$/);
  const unkeyed = getHashes().flatMap((algorithm) => {
    const digest = createHash(algorithm).update('127.0.0.1').digest();
    return [digest.toString('hex'), digest.toString('base64'), digest.toString('base64url')];
  });
  const [sessionKey = Buffer.alloc(0)] = testApp.services.secrets.current.sessionKeys;
  // Addresses must not be hashed with these keys, which have other uses and could leak.
  const labels = ['cloakroom sealing', 'cloakroom cookie signature'];
  const derived = labels.map((label) => Buffer.from(hkdfSync('sha256', sessionKey, '', label, 32)));
  const keys = [sessionKey, ...derived].flatMap((bytes) => [bytes, bytes.toString('base64url')]);
  const underOtherKeys = keys.map((each) =>
    createHmac('sha256', each).update('127.0.0.1').digest('base64url'),
  );
  const names = ['127.0.0.1', ...unkeyed, ...underOtherKeys];
  expect(names.filter((name) => key.includes(name))).toEqual([]);

  await testApp.services.useSecrets({ ...testApp.services.secrets.current, sessionKeys: [randomBytes(32)] });
  await signIn(testApp.origin);
  const both = await testApp.redis.keys(COUNT_KEYS);
  expect(both).toHaveLength(2);
  expect(both).toContain(key);
});

test('a window lasts ten minutes from the first sign-in, and then a new window starts', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '1' });
  expect(await statusesOf(testApp, 2)).toEqual([302, 429]);
  const [key = ''] = await testApp.redis.keys(COUNT_KEYS);
  const left = await testApp.redis.pttl(key);
  expect(left).toBeGreaterThan(590_000);
  expect(left).toBeLessThanOrEqual(600_000);
  // Retry, because the process uses its own count while Redis is slow.
  await eventually(async () => {
    await testApp.redis.pexpireat(key, 1); // lets the key expire
    return (await signIn(testApp.origin)).status === 302;
  });
});

test('a HEAD request is counted, because it also starts a sign-in', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '1' });
  const head = await fetch(testApp.origin + LOGIN_PATH, { method: 'HEAD', redirect: 'manual' });
  expect([head.status, (await signIn(testApp.origin)).status]).toEqual([302, 429]);
});

test('SIGN_INS_PER_ADDRESS=0 sets no limit', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '0' });
  expect(new Set(await statusesOf(testApp, 5))).toEqual(new Set([302]));
  expect(await testApp.redis.keys(COUNT_KEYS)).toEqual([]);
});

test.each([
  ['without TRUST_PROXY, X-Forwarded-For is ignored', '0', ['192.0.2.1', '192.0.2.2'], [302, 429]],
  [
    'behind a proxy, sign-ins are counted by the address that the proxy reports, whatever the client claims',
    '1',
    ['192.0.2.1', '192.0.2.2, 192.0.2.1', '192.0.2.1:49152', '::ffff:192.0.2.1', '192.0.2.1, 192.0.2.3'],
    [302, 429, 429, 429, 302],
  ],
  [
    'addresses in the same IPv6 network are counted together',
    '1',
    ['2001:db8:1::1', '2001:db8:1:ffff:2::', '2001:db8:2::1'],
    [302, 429, 302],
  ],
])('%s', async (_what, TRUST_PROXY, addresses, expected) => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '1', TRUST_PROXY });
  const statuses = [];
  for (const address of addresses)
    statuses.push((await signIn(testApp.origin, { 'x-forwarded-for': address })).status);
  expect(statuses).toEqual(expected);
});

test('processes share their counts', async () => {
  await using fleet = await startFleet({ processes: 2, env: { SIGN_INS_PER_ADDRESS: '4' } });
  expect(tally(await signInTimes(4, fleet.at(0).url))).toEqual({ 302: 4 });
  // While Redis is slow, the other process uses its own count and may accept some of these sign-ins.
  expect(tally(await signInTimes(4, fleet.at(1).url))).toHaveProperty(['429']);
});

test('while Redis is down or hangs, a process uses its own counts and responds within two seconds', async () => {
  await using server = await startRedisServer();
  await using fleet = await startFleet({ redisUrl: server.url, env: { SIGN_INS_PER_ADDRESS: '2' } });
  const three = async () => {
    const responses = await signInTimes(3, fleet.at(0).url);
    for (const { ms } of responses) expect(ms).toBeLessThan(2_000);
    return responses.map(({ status }) => status);
  };
  server.pause();
  expect(await three()).toEqual([503, 503, 429]);
  server.resume();
  await server.kill();
  expect(await three()).toEqual([429, 429, 429]);
  // Redis restarts without its data and scripts.
  await server.restart('empty');
  await untilReady(fleet.at(0));
  await eventually(async () => {
    const isCountedAnew = String(await three()) === '302,302,429';
    // Retry, because the process uses its own count while Redis is slow.
    if (!isCountedAnew) await fleet.redis.flushall();
    return isCountedAnew;
  });
});

test('a sign-in sends its next Redis command without waiting for a slow count', async () => {
  await using server = await startRedisServer();
  await using line = await startRedisProxy(server.port);
  await using fleet = await startFleet({ redisUrl: server.url, env: { REDIS_URL: line.url } });
  line.freezeAt = /sign-in-counts:/;
  const started = signIn(fleet.at(0).url);
  await eventually(async () => line.heldCommands().includes('cloakroom:signin:'));
  expect(line.heldCommands()).toContain('cloakroom:sign-in-counts:');
  line.unfreeze();
  await started;
});

test('cross-site subresource requests are refused and not counted', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '1' });
  const crossSite = async (mode: string, dest: string) => {
    const headers = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': mode, 'sec-fetch-dest': dest };
    return (await signIn(testApp.origin, headers)).status;
  };
  expect([await crossSite('no-cors', 'image'), await crossSite('no-cors', 'image')]).toEqual([403, 403]);
  expect(await crossSite('navigate', 'document')).toBe(302);
});

test('a sign-in without a session takes little memory in Redis, however long its return_to is', async () => {
  await using testApp = await startTestApp();
  const memoryOf = async (search: string, headers: Readonly<Record<string, string>> = {}) => {
    await testApp.redis.flushall();
    await send(testApp.origin, '', {
      path: `${LOGIN_PATH}?return_to=${encodeURIComponent(search)}`,
      headers,
    });
    const [key = ''] = await testApp.redis.keys('cloakroom:signin:*');
    return testApp.redis.strlen(key);
  };
  expect(await memoryOf(`/workspaces?find=${'+'.repeat(8_000)}`)).toBeLessThan(4_096);
  expect(await memoryOf(`/workspaces?find=${'a'.repeat(8_000)}`)).toBeLessThan(4_096);
  // A user with an earlier session keeps the full return_to.
  const cookie = testApp.services.cookie.write('an-id-of-before').split(';', 1)[0] ?? '';
  expect(await memoryOf(`/workspaces?find=${'a'.repeat(8_000)}`, { cookie })).toBeGreaterThan(8_192);
});

test('only the first quarter of the allowed sign-ins from an address may have a long return_to', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '8' });
  const begin = async (length: number) => {
    await testApp.redis.del(...(await testApp.redis.keys('cloakroom:signin:*')), 'none');
    const path = `${LOGIN_PATH}?return_to=${encodeURIComponent('/workspaces?find='.padEnd(length, 'a'))}`;
    expect((await send(testApp.origin, '', { path, headers: HTML })).status).toBe(302);
    const [key = ''] = await testApp.redis.keys('cloakroom:signin:*');
    return testApp.redis.strlen(key);
  };
  expect(await begin(4_096)).toBeGreaterThan(4_096);
  expect(await begin(4_096)).toBeGreaterThan(4_096);
  expect(await begin(4_096)).toBeLessThan(512);
  expect(await begin(512)).toBeGreaterThan(512);
  expect(await begin(513)).toBeLessThan(512);
});

test('the counts of a process are reset when their window ends', () => {
  let clock = 0;
  const counts = createLocalCounts({ windowMs: 1_000, now: () => clock });
  const hits = (key: string) => counts.increment(key).totalHits;
  expect([hits('a'), hits('a'), hits('b')]).toEqual([1, 2, 1]);
  clock = 999;
  expect(hits('a')).toBe(3);
  clock = 1_000;
  expect(hits('a')).toBe(1);
});

test('a process forgets its oldest counts if there are too many addresses', () => {
  const counts = createLocalCounts({ windowMs: 1_000, now: () => 0 });
  for (let at = 0; at < 30_000; at += 1) counts.increment(String(at));
  expect(counts.increment('29999').totalHits).toBe(2);
  expect(counts.increment('0').totalHits).toBe(1);
});

const WINDOW_MS = 60_000;

/** Resolves with a function that counts sign-ins as a separate process would. */
async function createCounts(redis: RedisClient) {
  const counts = createSignInCounts({ redis, prefix: 'sign-in-counts:', windowMs: WINDOW_MS, now: Date.now });
  await counts.init?.({ windowMs: WINDOW_MS } as Parameters<NonNullable<typeof counts.init>>[0]);
  return async (key: string) => (await counts.increment(key)).totalHits;
}

test('in a cluster, each master counts sign-ins for the keys in its slots, even after losing the script', async () => {
  await using topology = await startCluster();
  const redis = createRedis(parseRedisUrl(topology.url), createLog('silent'));
  await redisReady(redis);
  const [one, other] = [await createCounts(redis), await createCounts(redis)];
  const keys = Array.from({ length: 20 }, (_, at) => `address-${at}`);
  expect(await Promise.all(keys.map(one))).toEqual(Array.from({ length: 20 }, () => 1));
  for (const { master } of topology.shards) await master.sendCommand('SCRIPT', 'FLUSH');
  // The count in Redis is one higher than the process's own count, which applies while Redis is slow.
  const countsTogether = async (key: string) => {
    let own = 0;
    await eventually(async () => (await other(key)) === (own += 1) + 1);
  };
  await Promise.all(keys.map(countsTogether));
  await closeRedis(redis);
});
