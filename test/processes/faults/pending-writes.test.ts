import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, test } from '@jest/globals';
import { TOKEN_PATH } from '../../support/constants.ts';
import { untilReady } from '../../support/fleet/cloakroom.ts';
import { useFleetAndRedis, type TestSession } from '../../support/fleet/fleet.ts';
import { untilConnected } from '../../support/fleet/redis-fault.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { send, startLoad, tally, type FleetResponse, type Load } from '../../support/fleet/requests.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

const { fleet, redis } = useFleetAndRedis({
  processes: 3,
  env: { TOKEN_TIMEOUT_SECONDS: '20' },
  service: { LOCAL_SERVICE_ROTATE_REFRESH: 'true' },
});
beforeEach(async () => {
  await untilConnected(fleet);
  fleet.service.reset();
});

/** While Redis is down, a holder can’t extend its lock, which expires after 5 s. */
const LONGER_THAN_A_LOCK_MS = 5_200;

/** Sends requests to the processes that aren’t refreshing the session, one of which may be the first to reach Redis again. */
function startOthers({ cookie }: TestSession): Load {
  return startLoad(6, async (count) => {
    await delay(50);
    return send(fleet.at(1 + (count % 2)).url, cookie);
  });
}

/**
 * Checks that every process serves the session again once Redis is back, and that the refresh token was presented only once.
 * `first` is the response to the request that started the refresh.
 */
async function expectNothingLost(
  fault: string,
  session: TestSession,
  load: Load,
  first: FleetResponse | Promise<FleetResponse>,
) {
  using back = startStopwatch();
  await Promise.race([load.next(200), load.next(401)]);
  const recoveredInMs = back.ms();
  const responses = [await first, ...(await load.stop())];
  await Promise.all(fleet.processes.map(untilReady));
  const after = await Promise.all(fleet.processes.map(async ({ url }) => send(url, session.cookie)));
  const sessionsLost = await fleet.countLostSessions([session]);
  reportFault(fault, responses, { sessionsLost, recoveredInMs });
  expect(tally(after)).toEqual({ 200: 3 });
  const allowed = ['200', '503 session_store_unavailable'];
  expect(allowed).toEqual(expect.arrayContaining(Object.keys(tally(responses))));
  expect(fleet.service.refreshes).toHaveLength(1);
}

test('a rotated grant is stored even if Redis is killed when the grant arrives and stays down for longer than the lock lasts', async () => {
  const session = await fleet.createSession('demo', { expiresAt: 0 });
  fleet.service.intercept = async ({ url }) => {
    if (url !== TOKEN_PATH) return false;
    fleet.service.intercept = () => false;
    await redis.kill();
    return false;
  };
  const first = await send(fleet.at(0).url, session.cookie);
  expect(first).toMatchObject({ status: 503, code: 'session_store_unavailable' });
  const load = startOthers(session);
  await delay(LONGER_THAN_A_LOCK_MS); // the duration is part of the fault
  await redis.restart('with its data');
  await expectNothingLost('Redis is killed as a rotated grant arrives', session, load, first);
});

test('a slow token endpoint receives only one request even if Redis hangs for longer than the lock lasts', async () => {
  const session = await fleet.createSession('demo', { expiresAt: 0 });
  const endpoint = fleet.service.holdTokenRequests();
  const first = send(fleet.at(0).url, session.cookie);
  await endpoint.reached();
  redis.pause();
  await delay(LONGER_THAN_A_LOCK_MS); // the duration is part of the fault
  redis.resume();
  const load = startOthers(session);
  // Wait until the other processes would treat a process without heartbeats as dead.
  await delay(4_500);
  expect(fleet.service.refreshes).toHaveLength(1);
  endpoint.release();
  await expectNothingLost('Redis hangs while the token endpoint is slow', session, load, first);
});
