import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { TOKEN_PATH } from '../../support/constants.ts';
import { send, closeConnections, startLoad, tally } from '../../support/fleet/requests.ts';
import type { FleetResponse, Load } from '../../support/fleet/requests.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import type { Fleet } from '../../support/fleet/fleet.ts';
import { startRedisServer } from '../../support/fleet/redis-server.ts';
import type { RedisServer } from '../../support/fleet/redis-server.ts';
import { createBarrier } from '../../support/fleet/barrier.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { eventually } from '../../support/eventually.ts';
import { startStopwatch } from '../../support/stopwatch.ts';
import type { Stopwatch } from '../../support/stopwatch.ts';

let redis: RedisServer;
let fleet: Fleet;
beforeAll(async () => {
  redis = await startRedisServer();
  const service = { LOCAL_SERVICE_ROTATE_REFRESH: 'true' };
  const env = { TOKEN_TIMEOUT_SECONDS: '20' };
  fleet = await startFleet({ processes: 3, redisUrl: redis.url, env, service });
});
afterAll(async () => {
  await closeConnections();
  await fleet[Symbol.asyncDispose]();
  await redis[Symbol.asyncDispose]();
});

beforeEach(async () => {
  // The test's own connection finds Redis again in its own time.
  await eventually(async () => (await fleet.redis.ping().catch(() => '')) === 'PONG');
  fleet.service.refreshes.length = 0;
  fleet.service.intercept = () => false;
});

/** A lock lives five seconds, and its holder can’t extend it while Redis is away. */
const LONGER_THAN_A_LOCK_MS = 5_200;
/** Between the requests of one client. */
const PAUSE_MS = 50;
const KINDS = ['200', '503 session_store_unavailable'];

/** Requests at the processes that don’t refresh the session: one of them may be the first to reach Redis again. */
function startOthers(cookie: string): Load {
  return startLoad(6, async (count) => {
    await delay(PAUSE_MS);
    return send(fleet.at(1 + (count % 2)).url, cookie);
  });
}

/** Each process serves the session, and its refresh token was presented once. */
async function expectNothingLost(
  fault: string,
  cookie: string,
  responses: readonly FleetResponse[],
  back: Stopwatch,
) {
  const recoveredInMs = back.ms();
  const isReady = async (at: number) =>
    (await send(fleet.at(at).url, '', { path: '/readyz' })).status === 200;
  await eventually(async () => (await Promise.all([0, 1, 2].map(isReady))).every(Boolean));
  const after = await Promise.all([0, 1, 2].map(async (at) => send(fleet.at(at).url, cookie)));
  const isLost = after.some(({ status }) => status !== 200);
  reportFault({ fault, responses, sessionsLost: isLost ? 1 : 0, recoveredInMs });
  expect(tally(after)).toEqual({ 200: 3 });
  expect(KINDS).toEqual(expect.arrayContaining(Object.keys(tally(responses))));
  expect(fleet.service.refreshes).toHaveLength(1);
}

test('a rotated grant is stored although Redis goes away as it arrives, for longer than the lock lives', async () => {
  const { cookie } = await fleet.createSession('demo', { expiresAt: 0 });
  fleet.service.intercept = async ({ url }) => {
    if (url !== TOKEN_PATH) return false;
    fleet.service.intercept = () => false;
    await redis.kill();
    return false;
  };
  const first = await send(fleet.at(0).url, cookie);
  expect(first).toMatchObject({ status: 503, code: 'session_store_unavailable' });
  const load = startOthers(cookie);
  await delay(LONGER_THAN_A_LOCK_MS); // time is the fault here
  await redis.restart('whole');
  using back = startStopwatch();
  await Promise.race([load.next(200), load.next(401)]);
  const responses = [first, ...(await load.stop())];
  await expectNothingLost('Redis goes as a rotated grant comes, and comes back', cookie, responses, back);
});

test('a token endpoint that is slow while Redis is away for longer than the lock lives gets one request', async () => {
  const { cookie } = await fleet.createSession('demo', { expiresAt: 0 });
  const endpoint = createBarrier();
  endpoint.hold();
  fleet.service.intercept = async ({ url }) => {
    if (url === TOKEN_PATH) await endpoint.pass();
    return false;
  };
  const first = send(fleet.at(0).url, cookie);
  await endpoint.reached();
  redis.pause();
  await delay(LONGER_THAN_A_LOCK_MS); // time is the fault here, too
  redis.resume();
  using back = startStopwatch();
  const load = startOthers(cookie);
  // Longer than a process without a heartbeat counts as running.
  await delay(4_500);
  expect(fleet.service.refreshes).toHaveLength(1);
  endpoint.release();
  await Promise.race([load.next(200), load.next(401)]);
  const responses = [await first, ...(await load.stop())];
  await expectNothingLost('Redis goes while the token endpoint takes its time', cookie, responses, back);
});
