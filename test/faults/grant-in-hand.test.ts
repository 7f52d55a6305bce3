import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { call, closeCalls, startLoad, tally } from '../support/fleet/calls.ts';
import { startFleet } from '../support/fleet/fleet.ts';
import type { Fleet } from '../support/fleet/fleet.ts';
import { startRedisServer } from '../support/fleet/redis-server.ts';
import type { RedisServer } from '../support/fleet/redis-server.ts';
import { reportFault } from '../support/fleet/report.ts';
import { TOKEN_PATH } from '../support/fleet/service.ts';

let redis: RedisServer;
let fleet: Fleet;
beforeAll(async () => {
  redis = await startRedisServer();
  const service = { LOCAL_SERVICE_ROTATE_REFRESH: 'true' };
  fleet = await startFleet({ processes: 3, redisUrl: redis.url, service });
});
afterAll(async () => {
  await closeCalls();
  await fleet[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
});

/** The lock lives five seconds, and nobody can extend it while Redis is away. */
const MUCH_LONGER_THAN_A_LOCK_MS = 16_000;
/** Between the calls of one caller. */
const PAUSE_MS = 50;

test('Redis goes just when a rotated grant comes, for longer than the lock lives: the grant is stored, not lost', async () => {
  const { cookie } = await fleet.enter('demo', { expiresAt: 0 });
  fleet.service.intercept = async ({ url }) => {
    if (url !== TOKEN_PATH) return false;
    fleet.service.intercept = () => false;
    await redis.kill();
    return false;
  };
  const answers = [await call(fleet.at(0).url, cookie)];
  expect(answers).toMatchObject([{ status: 503, code: 'session_store_unavailable' }]);
  // The others ask for the same session all the time, and one of them may well be the first to find Redis back.
  const load = startLoad(6, async (count) => {
    await delay(PAUSE_MS);
    return call(fleet.at(1 + (count % 2)).url, cookie);
  });
  await delay(MUCH_LONGER_THAN_A_LOCK_MS); // time is the fault here
  await redis.restart('whole');

  const backAt = performance.now();
  await Promise.race([load.next(200), load.next(401)]);
  const recoveredInMs = performance.now() - backAt;
  answers.push(...(await load.stop()));
  const isLost = (await call(fleet.at(0).url, cookie)).status !== 200;
  const fault = 'Redis goes just when a rotated grant comes, and comes back';
  reportFault({ fault, answers, sessionsLost: isLost ? 1 : 0, recoveredInMs });

  expect(isLost).toBe(false);
  const kinds = Object.keys(tally(answers));
  expect(['200', '503 session_store_unavailable']).toEqual(expect.arrayContaining(kinds));
  expect(fleet.service.refreshes).toHaveLength(1);
}, 40_000);
