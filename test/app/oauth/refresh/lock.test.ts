import { setImmediate as turn } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, expect, jest, test } from '@jest/globals';
import { createRefreshLocks, type HeldLock } from '../../../../src/oauth/refresh/lock.ts';
import { createLog } from '../../../../src/observability/logger.ts';
import { startPrivateRedis } from '../../../../src/redis/private-redis.ts';
import { parseRedisUrl } from '../../../../src/config/redis-url.ts';
import { closeRedis, createRedis, redisReady, type RedisClient } from '../../../../src/redis/client.ts';
import { sessionScopedKey } from '../../../../src/session/store.ts';
import { useFixture } from '../../../support/fixtures.ts';

const SESSION = 'a-session';
const LOCK = sessionScopedKey('t:', 'refresh-lock', SESSION);
const ENTRY = sessionScopedKey('t:', 'refresh-journal', SESSION);

const server = useFixture(startPrivateRedis);
let redis: RedisClient;
beforeAll(async () => {
  redis = createRedis(parseRedisUrl(server.url), createLog('silent'));
  await redisReady(redis);
});
afterAll(async () => closeRedis(redis));
beforeEach(async () => redis.flushall());
afterEach(() => void jest.useRealTimers());

async function acquire(): Promise<HeldLock> {
  const reply = await createRefreshLocks(redis, 't:').acquire(SESSION);
  if (reply.state !== 'held') throw new Error('the lock is not free');
  return reply.lock;
}

test('a lock is fresh once Redis has stored its journal entry', async () => {
  const lock = await acquire();
  expect(lock.isFresh()).toBe(false);
  expect(await lock.setIfHeld(ENTRY, 'an entry', 60)).toBe(true);
  expect(lock.isFresh()).toBe(true);
  expect(await redis.get(ENTRY)).toBe('an entry');
  await lock.release();
  expect(await redis.exists(LOCK)).toBe(0);
});

test('a lock is taken while a process holds it, and free after its release', async () => {
  const lock = await acquire();
  expect(await createRefreshLocks(redis, 't:').acquire(SESSION)).toEqual({ state: 'taken' });
  await lock.release();
  await (await acquire()).release();
});

test('once another process has taken a lock, the former lock is stale, and neither writes an entry nor releases the new lock', async () => {
  const lock = await acquire();
  await redis.set(LOCK, 'another process'); // Redis has lost the first lock
  expect(await lock.setIfHeld(ENTRY, 'an entry', 60)).toBe(false);
  expect(lock.isFresh()).toBe(false);
  expect(await redis.exists(ENTRY)).toBe(0);
  await lock.release();
  await lock.coolDown();
  expect(await redis.get(LOCK)).toBe('another process');
});

test('writing an entry restarts the lifetime of the lock', async () => {
  const lock = await acquire();
  await redis.pexpire(LOCK, 1_000);
  await lock.setIfHeld(ENTRY, 'an entry', 60);
  expect(await redis.pttl(LOCK)).toBeGreaterThan(1_000);
  await lock.release();
});

/** The lifetime of a lock, its age when the holder extends it, and its age when it becomes stale, in ms. */
const LIFETIME_MS = 5_000;
const EXTENDS_AFTER_MS = LIFETIME_MS / 3;
const STALE_AFTER_MS = LIFETIME_MS / 2;

/** Fakes the clock and the timer that extends a lock, but not the timers that the Redis client uses. */
function fakeTime(): void {
  jest.useFakeTimers({
    doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate', 'setTimeout', 'clearTimeout'],
  });
}

/** Resolves once Redis has replied to every command so far and the lock has read the replies. */
async function replies(): Promise<void> {
  await redis.ping();
  await turn();
}

test('a lock is stale once half its lifetime has passed since Redis confirmed it, and fresh again after the next confirmation', async () => {
  fakeTime();
  const lock = await acquire();
  await lock.setIfHeld(ENTRY, 'an entry', 60);
  await redis.pexpire(LOCK, 1_000);
  jest.advanceTimersByTime(STALE_AFTER_MS - 1); // the reply to the extension has not been read yet
  expect(lock.isFresh()).toBe(true);
  jest.advanceTimersByTime(1);
  expect(lock.isFresh()).toBe(false);
  await replies();
  expect(lock.isFresh()).toBe(true);
  expect(await redis.pttl(LOCK)).toBeGreaterThan(1_000);
  await lock.release();
});

test('the age of a lock is counted from the command that confirmed it, not from the reply', async () => {
  fakeTime();
  const lock = await acquire();
  const written = lock.setIfHeld(ENTRY, 'an entry', 60);
  const taken = redis.set(LOCK, 'another process'); // Redis runs this command before the lock can be extended
  jest.advanceTimersByTime(STALE_AFTER_MS);
  expect(await written).toBe(true);
  await taken;
  expect(lock.isFresh()).toBe(false);
  await lock.release();
});

test.each(['release', 'coolDown'] as const)('%s stops extending the lock', async (finish) => {
  fakeTime();
  const lock = await acquire();
  expect(jest.getTimerCount()).toBe(1);
  await lock[finish]();
  expect(jest.getTimerCount()).toBe(0);
});

test('a holder does not extend a lock that another process has taken, and its own lock becomes stale', async () => {
  fakeTime();
  const lock = await acquire();
  await lock.setIfHeld(ENTRY, 'an entry', 60);
  await redis.set(LOCK, 'another process', 'PX', 60_000);
  jest.advanceTimersByTime(EXTENDS_AFTER_MS + 1);
  await replies();
  expect(await redis.pttl(LOCK)).toBeGreaterThan(LIFETIME_MS);
  jest.advanceTimersByTime(STALE_AFTER_MS - EXTENDS_AFTER_MS);
  expect(lock.isFresh()).toBe(false);
  await lock.release();
});
