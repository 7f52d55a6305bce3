import { expect, test } from '@jest/globals';
import { createSignInCounts } from '../../../src/oauth/rate-limit.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { closeRedis, createRedis, redisReady } from '../../../src/redis/client.ts';
import type { RedisClient } from '../../../src/redis/client.ts';
import { eventually } from '../../support/eventually.ts';
import { startCluster } from '../../support/redis/cluster.ts';

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
