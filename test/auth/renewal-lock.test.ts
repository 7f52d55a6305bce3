import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createRenewalLocks } from '../../src/auth/renewal-lock.ts';
import type { HeldLock } from '../../src/auth/renewal-lock.ts';
import { createLog } from '../../src/platform/log.ts';
import { startPrivateRedis } from '../../src/platform/private-redis.ts';
import type { PrivateRedis } from '../../src/platform/private-redis.ts';
import { parseRedisUrl } from '../../src/platform/redis-url.ts';
import { closeRedis, createRedis, redisReady } from '../../src/platform/redis.ts';
import type { RedisClient } from '../../src/platform/redis.ts';
import { keyBesideSession } from '../../src/session/session-records.ts';

const SESSION = 'a-session';
const LOCK = keyBesideSession('t:', 'renewal', SESSION);
const NOTE = keyBesideSession('t:', 'attempt', SESSION);

let server: PrivateRedis;
let redis: RedisClient;
beforeAll(async () => {
  server = await startPrivateRedis();
  redis = createRedis(parseRedisUrl(server.url), createLog('silent'));
  await redisReady(redis);
});
afterAll(async () => {
  await closeRedis(redis);
  await server[Symbol.asyncDispose]();
});
beforeEach(async () => redis.flushall());

async function acquire(): Promise<HeldLock> {
  const lock = await createRenewalLocks(redis, 't:').acquire(SESSION);
  if (lock === 'taken' || !('release' in lock)) throw new Error('the lock is not free');
  return lock;
}

test('a lock is fresh once Redis has confirmed it with a note', async () => {
  const lock = await acquire();
  expect(lock.isFresh()).toBe(false);
  expect(await lock.setIfHeld(NOTE, 'a note', 60)).toBe(true);
  expect(lock.isFresh()).toBe(true);
  expect(await redis.get(NOTE)).toBe('a note');
  await lock.release();
  expect(await redis.exists(LOCK)).toBe(0);
});

test('a lock that another process has taken writes no note, is not fresh, and leaves that lock alone', async () => {
  const lock = await acquire();
  await redis.set(LOCK, 'another process'); // Redis has lost it in between
  expect(await lock.setIfHeld(NOTE, 'a note', 60)).toBe(false);
  expect(lock.isFresh()).toBe(false);
  expect(await redis.exists(NOTE)).toBe(0);
  await lock.release();
  expect(await redis.get(LOCK)).toBe('another process');
});
