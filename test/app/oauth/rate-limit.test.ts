import { createHash, createHmac, getHashes, hkdfSync, randomBytes } from 'node:crypto';
import { request } from 'undici';
import { afterAll, expect, test } from '@jest/globals';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { createLocalCounts, createSignInCounts } from '../../../src/oauth/rate-limit.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { closeRedis, createRedis, redisReady, type RedisClient } from '../../../src/redis/client.ts';
import { ACCEPT_HTML as HTML } from '../../support/constants.ts';
import { call, closeCalls, tally } from '../../support/fleet/calls.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import { ready } from '../../support/fleet/ready.ts';
import { startRedisServer } from '../../support/fleet/redis-server.ts';
import { startSlowLine } from '../../support/fleet/slow-line.ts';
import { startTestApp, type TestApp } from '../../support/test-app.ts';
import { eventually } from '../../support/eventually.ts';
import { startCluster } from '../../support/redis/cluster.ts';

const SIGN_IN = { path: '/auth/login', headers: HTML };

afterAll(closeCalls);

/** Begins a sign-in; `from` is what it says of its address. */
const signIn = async ({ origin }: Pick<TestApp, 'origin'>, from?: string) =>
  call(origin, '', {
    ...SIGN_IN,
    headers: { ...HTML, ...(from !== undefined && { 'x-forwarded-for': from }) },
  });

/** The statuses of several that begin one after the other. */
async function statuses(
  testApp: Pick<TestApp, 'origin'>,
  froms: readonly (string | undefined)[],
): Promise<number[]> {
  const answers = [];
  for (const from of froms) answers.push((await signIn(testApp, from)).status);
  return answers;
}

test('past the limit a sign-in is a page with 429 that says how long to wait', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '2' });
  const began = Date.now();
  expect(await statuses(testApp, [undefined, undefined])).toEqual([302, 302]);
  // Where a client should wait for less than half a second more, rounding to the nearest second would round down.
  const leftMs = () => began + 600_000 - Date.now();
  await eventually(async () => leftMs() % 1_000 > 100 && leftMs() % 1_000 < 400);
  const { status, headers, body } = await signIn(testApp);
  expect(status).toBe(429);
  expect(headers['content-type']).toMatch(/^text\/html/);
  // A client that waits this long finds the next window: part of a second is rounded up.
  expect(Number(headers['retry-after']) * 1_000).toBeGreaterThanOrEqual(leftMs());
  expect(Number(headers['retry-after'])).toBeLessThanOrEqual(600);
  expect(body).toContain('Too many sign-ins at once');
  expect(body).toContain('10 minutes');
  expect(Object.keys(headers).filter((name) => /ratelimit/.test(name))).toEqual([]);
});

test('the log tells once in a window, and Redis holds no address', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '1' });
  await statuses(
    testApp,
    Array.from({ length: 4 }, () => undefined),
  );
  const lines = testApp.logged.filter((line) => line.includes('sign-in limit of an address reached'));
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    expect.objectContaining({ level: 'warn', client: '127.0.0.1', requestId: expect.any(String) }),
  ]);
  const keys = await testApp.redis.keys('cloakroom:sign-in-counts:*');
  expect(keys).toEqual([expect.stringMatching(/^cloakroom:sign-in-counts:[\w-]{43}$/)]);
});

test('Redis keeps a client address as a hash under a key of its own, derived from the session key', async () => {
  await using testApp = await startTestApp();
  await signIn(testApp);
  const [key = '', ...more] = await testApp.redis.keys('cloakroom:sign-in-counts:*');
  expect(more).toEqual([]);
  const unkeyed = getHashes().flatMap((algorithm) => {
    const digest = createHash(algorithm).update('127.0.0.1').digest();
    return [digest.toString('hex'), digest.toString('base64'), digest.toString('base64url')];
  });
  const { sessionKeys } = testApp.services.secrets.current;
  const [sessionKey = Buffer.alloc(0)] = sessionKeys;
  // Of the keys for other uses, one that leaked would tell the addresses.
  const labels = ['cloakroom sealing', 'cloakroom cookie signature'];
  const derived = labels.map((label) => Buffer.from(hkdfSync('sha256', sessionKey, '', label, 32)));
  const keys = [sessionKey, ...derived].flatMap((bytes) => [bytes, bytes.toString('base64url')]);
  const underOtherKeys = keys.map((each) =>
    createHmac('sha256', each).update('127.0.0.1').digest('base64url'),
  );
  const names = ['127.0.0.1', ...unkeyed, ...underOtherKeys];
  expect(names.filter((name) => key.includes(name))).toEqual([]);

  await testApp.services.useSecrets({ ...testApp.services.secrets.current, sessionKeys: [randomBytes(32)] });
  await signIn(testApp);
  const both = await testApp.redis.keys('cloakroom:sign-in-counts:*');
  expect(both).toHaveLength(2);
  expect(both).toContain(key);
});

test('the window is ten minutes from the first sign-in, and then it is open again', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '1' });
  expect(await statuses(testApp, [undefined, undefined])).toEqual([302, 429]);
  const [key = ''] = await testApp.redis.keys('cloakroom:sign-in-counts:*');
  const left = await testApp.redis.pttl(key);
  expect(left).toBeGreaterThan(590_000);
  expect(left).toBeLessThanOrEqual(600_000);
  // Where Redis is slow to count, what the process has counted by itself holds.
  await eventually(async () => {
    await testApp.redis.pexpireat(key, 1); // its time is over
    return (await signIn(testApp)).status === 302;
  });
});

test('HEAD counts as well: it would begin a sign-in, too', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '1' });
  const head = await request(`${testApp.origin}/auth/login`, { method: 'HEAD', headers: HTML });
  await head.body.dump();
  expect([head.statusCode, (await signIn(testApp)).status]).toEqual([302, 429]);
});

test('0 is no limit', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '0' });
  expect(
    await statuses(
      testApp,
      Array.from({ length: 5 }, () => undefined),
    ),
  ).toEqual(Array.from({ length: 5 }, () => 302));
  expect(await testApp.redis.keys('cloakroom:sign-in-counts:*')).toEqual([]);
});

test('without proxies of ours X-Forwarded-For changes nothing', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '1' });
  expect(await statuses(testApp, ['192.0.2.1', '192.0.2.2'])).toEqual([302, 429]);
});

test('behind a proxy what it has seen counts: nobody escapes by what they claim, or locks out others', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '1', TRUST_PROXY: '1' });
  const claims = ['192.0.2.1', '192.0.2.2, 192.0.2.1', '192.0.2.1:49152', '::ffff:192.0.2.1'];
  expect(await statuses(testApp, claims)).toEqual([302, 429, 429, 429]);
  expect(await statuses(testApp, ['192.0.2.2', '192.0.2.1, 192.0.2.3'])).toEqual([302, 302]);
});

test('the addresses of one IPv6 network are one', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '1', TRUST_PROXY: '1' });
  const addresses = ['2001:db8:1::1', '2001:db8:1:ffff:2::', '2001:db8:2::1'];
  expect(await statuses(testApp, addresses)).toEqual([302, 429, 302]);
});

test('processes count together', async () => {
  await using fleet = await startFleet({ processes: 2, env: { SIGN_INS_PER_ADDRESS: '4' } });
  const [one, other] = [fleet.at(0).url, fleet.at(1).url];
  const here = [];
  for (let at = 0; at < 4; at += 1) here.push(await call(one, '', SIGN_IN));
  expect(tally(here)).toEqual({ 302: 4 });
  // By itself the other one would let them all pass, as it may while Redis is slow.
  const there = [];
  for (let at = 0; at < 4; at += 1) there.push((await call(other, '', SIGN_IN)).status);
  expect(there).toContain(429);
});

test('while Redis is away or silent the process counts by itself, and each answer comes within two seconds', async () => {
  await using server = await startRedisServer();
  await using fleet = await startFleet({ redisUrl: server.url, env: { SIGN_INS_PER_ADDRESS: '2' } });
  const { url } = fleet.at(0);
  const three = async () => {
    const answers = [];
    for (let at = 0; at < 3; at += 1) answers.push(await call(url, '', SIGN_IN));
    for (const { ms } of answers) expect(ms).toBeLessThan(2_000);
    return answers.map(({ status }) => status);
  };
  server.pause();
  expect(await three()).toEqual([503, 503, 429]);
  server.resume();
  await server.kill();
  expect(await three()).toEqual([429, 429, 429]);
  // Empty, and without the script: it counts from the start.
  await server.restart('empty');
  await ready(fleet.at(0));
  await eventually(async () => {
    const isCountedAnew = String(await three()) === '302,302,429';
    // Where it was slow to count, what the process has counted by itself holds.
    if (!isCountedAnew) await fleet.redis.flushall();
    return isCountedAnew;
  });
});

test('a sign-in waits no longer than a moment for its count: the next is asked of a slow Redis meanwhile', async () => {
  await using server = await startRedisServer();
  await using line = await startSlowLine(server.port);
  await using fleet = await startFleet({ redisUrl: server.url, env: { REDIS_URL: line.url } });
  line.freezeAt = /sign-in-counts:/;
  const begun = call(fleet.at(0).url, '', SIGN_IN);
  await eventually(async () => line.held().includes('cloakroom:signin:'));
  expect(line.held()).toContain('cloakroom:sign-in-counts:');
  line.thaw();
  await begun;
});

test('another site can’t use up the sign-ins of its visitors’ network: what it loads is refused, and counts for nothing', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '1' });
  const picture = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'no-cors', 'sec-fetch-dest': 'image' };
  const load = async () => (await call(testApp.origin, '', { path: '/auth/login', headers: picture })).status;
  expect([await load(), await load()]).toEqual([403, 403]);
  const link = { 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate', 'sec-fetch-dest': 'document' };
  expect((await call(testApp.origin, '', { path: '/auth/login', headers: link })).status).toBe(302);
});

test('a stranger’s sign-in takes little room in Redis, however long the way back that it asks for', async () => {
  await using testApp = await startTestApp();
  const room = async (search: string, headers: Readonly<Record<string, string>> = {}) => {
    await testApp.redis.flushall();
    await call(testApp.origin, '', { path: `/auth/login?return_to=${encodeURIComponent(search)}`, headers });
    const [key = ''] = await testApp.redis.keys('cloakroom:signin:*');
    return testApp.redis.strlen(key);
  };
  expect(await room(`/workspaces?find=${'+'.repeat(8_000)}`)).toBeLessThan(4_096);
  expect(await room(`/workspaces?find=${'a'.repeat(8_000)}`)).toBeLessThan(4_096);
  // Who was signed in comes back to where they were.
  const deep = `/workspaces?find=${'a'.repeat(8_000)}`;
  const cookie = testApp.services.cookie.write('an-id-of-before').split(';', 1)[0] ?? '';
  expect(await room(deep, { cookie })).toBeGreaterThan(8_192);
});

test('an address that begins many sign-ins has room for long ways back in the first quarter of them alone', async () => {
  await using testApp = await startTestApp({ SIGN_INS_PER_ADDRESS: '8' });
  const begin = async (length: number) => {
    await testApp.redis.del(...(await testApp.redis.keys('cloakroom:signin:*')), 'none');
    const path = `/auth/login?return_to=${encodeURIComponent('/workspaces?find='.padEnd(length, 'a'))}`;
    expect((await call(testApp.origin, '', { path, headers: HTML })).status).toBe(302);
    const [key = ''] = await testApp.redis.keys('cloakroom:signin:*');
    return testApp.redis.strlen(key);
  };
  expect(await begin(4_096)).toBeGreaterThan(4_096);
  expect(await begin(4_096)).toBeGreaterThan(4_096);
  expect(await begin(4_096)).toBeLessThan(512);
  expect(await begin(512)).toBeGreaterThan(512);
  expect(await begin(513)).toBeLessThan(512);
});

test('counts of this process end with their window', () => {
  let clock = 0;
  const counts = createLocalCounts({ windowMs: 1_000, now: () => clock });
  const hits = (key: string) => counts.increment(key).totalHits;
  expect([hits('a'), hits('a'), hits('b')]).toEqual([1, 2, 1]);
  clock = 999;
  expect(hits('a')).toBe(3);
  clock = 1_000;
  expect(hits('a')).toBe(1);
});

test('counts of this process are bounded: those of very many addresses push out the ones counted longest ago', () => {
  const counts = createLocalCounts({ windowMs: 1_000, now: () => 0 });
  for (let at = 0; at < 30_000; at += 1) counts.increment(String(at));
  expect(counts.increment('29999').totalHits).toBe(2);
  expect(counts.increment('0').totalHits).toBe(1);
});

const WINDOW_MS = 60_000;

/** What one process counts with. */
async function createCounts(redis: RedisClient) {
  const counts = createSignInCounts({ redis, prefix: 'sign-in-counts:', windowMs: WINDOW_MS, now: Date.now });
  await counts.init?.({ windowMs: WINDOW_MS } as Parameters<NonNullable<typeof counts.init>>[0]);
  return async (key: string) => (await counts.increment(key)).totalHits;
}

test('in a cluster each key is counted at its own master, which knew nothing of the script', async () => {
  await using topology = await startCluster();
  const redis = createRedis(parseRedisUrl(topology.url), createLog('silent'));
  await redisReady(redis);
  const [one, other] = [await createCounts(redis), await createCounts(redis)];
  const keys = Array.from({ length: 20 }, (_, at) => `address-${at}`);
  expect(await Promise.all(keys.map(one))).toEqual(Array.from({ length: 20 }, () => 1));
  for (const { master } of topology.shards) await master.ask('SCRIPT', 'FLUSH');
  // One more than it has counted by itself: what holds where Redis is slow to count.
  const countsTogether = async (key: string) => {
    let own = 0;
    await eventually(async () => (await other(key)) === (own += 1) + 1);
  };
  await Promise.all(keys.map(countsTogether));
  await closeRedis(redis);
});
