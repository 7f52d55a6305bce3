import { setTimeout as delay } from 'node:timers/promises';
import { beforeEach, expect, test } from '@jest/globals';
import { TOKEN_PATH } from '../../support/constants.ts';
import { useFixture } from '../../support/fixtures.ts';
import { untilReady } from '../../support/fleet/cloakroom.ts';
import { useFleet, type TestSession } from '../../support/fleet/fleet.ts';
import { untilConnected } from '../../support/fleet/redis-fault.ts';
import { startRedisServer } from '../../support/fleet/redis-server.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { send, startLoad, tally, type FleetResponse, type Load } from '../../support/fleet/requests.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

const redis = useFixture(startRedisServer);
const fleet = useFleet(() => ({
  processes: 3,
  redisUrl: redis.url,
  env: { TOKEN_TIMEOUT_SECONDS: '20' },
  service: { LOCAL_SERVICE_ROTATE_REFRESH: 'true' },
}));

beforeEach(async () => {
  await untilConnected(fleet);
  fleet.service.reset();
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

/** Expects that each process serves the session, and that its refresh token was presented once. */
async function expectNothingLost(
  fault: string,
  session: TestSession,
  responses: readonly FleetResponse[],
  recoveredInMs: number,
) {
  await Promise.all(fleet.processes.map(untilReady));
  const after = await Promise.all(fleet.processes.map(async ({ url }) => send(url, session.cookie)));
  const sessionsLost = await fleet.countLost([session]);
  reportFault(fault, responses, { sessionsLost, recoveredInMs });
  expect(tally(after)).toEqual({ 200: 3 });
  expect(KINDS).toEqual(expect.arrayContaining(Object.keys(tally(responses))));
  expect(fleet.service.refreshes).toHaveLength(1);
}

test('a rotated grant is stored although Redis goes away as it arrives, for longer than the lock lives', async () => {
  const session = await fleet.createSession('demo', { expiresAt: 0 });
  fleet.service.intercept = async ({ url }) => {
    if (url !== TOKEN_PATH) return false;
    fleet.service.intercept = () => false;
    await redis.kill();
    return false;
  };
  const first = await send(fleet.at(0).url, session.cookie);
  expect(first).toMatchObject({ status: 503, code: 'session_store_unavailable' });
  const load = startOthers(session.cookie);
  await delay(LONGER_THAN_A_LOCK_MS); // time is the fault here
  await redis.restart('with its data');
  using back = startStopwatch();
  await Promise.race([load.next(200), load.next(401)]);
  const responses = [first, ...(await load.stop())];
  await expectNothingLost(
    'Redis goes as a rotated grant comes, and comes back',
    session,
    responses,
    back.ms(),
  );
});

test('a token endpoint that is slow while Redis is away for longer than the lock lives gets one request', async () => {
  const session = await fleet.createSession('demo', { expiresAt: 0 });
  const endpoint = fleet.service.holdTokenRequests();
  const first = send(fleet.at(0).url, session.cookie);
  await endpoint.reached();
  redis.pause();
  await delay(LONGER_THAN_A_LOCK_MS); // time is the fault here, too
  redis.resume();
  using back = startStopwatch();
  const load = startOthers(session.cookie);
  // Longer than a process without a heartbeat counts as running.
  await delay(4_500);
  expect(fleet.service.refreshes).toHaveLength(1);
  endpoint.release();
  await Promise.race([load.next(200), load.next(401)]);
  const responses = [await first, ...(await load.stop())];
  await expectNothingLost(
    'Redis goes while the token endpoint takes its time',
    session,
    responses,
    back.ms(),
  );
});
