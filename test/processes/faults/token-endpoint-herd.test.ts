import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { keyBesideSession } from '../../../src/session/store.ts';
import { TOKEN_PATH } from '../../support/constants.ts';
import { call, closeCalls, startLoad } from '../../support/fleet/calls.ts';
import { reportFault } from '../../support/fleet/report.ts';
import { startFleet } from '../../support/fleet/fleet.ts';
import type { Entered, Fleet } from '../../support/fleet/fleet.ts';
import { eventually } from '../../support/eventually.ts';

const SESSIONS = 40;
/** Each session is called with so often, so that a renewal follows as soon as Cloakroom allows it. */
const ASK_EVERY_MS = 80;
/**
 * Half of them are further apart than this, a quarter of a second as a rule; without jitter they would be as close as the
 * failures. Of a million draws not one was below it, and of three thousand one below twice as much.
 */
const SPREAD_OVER_MS = 60;

let fleet: Fleet;

beforeAll(async () => {
  fleet = await startFleet({ processes: 2 });
});
afterAll(async () => {
  await fleet[Symbol.asyncDispose]();
  await closeCalls();
});

test('sessions that failed at the same moment are let in one after the other', async () => {
  const sessions = await Promise.all(
    Array.from({ length: SESSIONS }, async (_, at) => fleet.enter(`user-${at}`, { expiresAt: 0 })),
  );
  fleet.service.intercept = ({ url, socket }) => url === TOKEN_PATH && Boolean(socket.destroy());
  const { refreshes } = fleet.service;
  const loads = sessions.map(({ cookie }) =>
    startLoad(1, async (count) => {
      if (count > 0) await delay(ASK_EVERY_MS);
      return call(fleet.processes[count % 2]?.url ?? '', cookie);
    }),
  );
  const waits = await Promise.all(
    sessions.map(async (session, at) => {
      await loads[at]?.next(503);
      return coolsDownFor(session);
    }),
  );

  fleet.service.intercept = () => false;
  const over = performance.now();
  await Promise.race(loads.map(async (load) => load.next(200)));
  const recoveredInMs = performance.now() - over;
  await Promise.all(loads.map(async (load) => load.next(200)));
  const answers = (await Promise.all(loads.map(async (load) => load.stop()))).flat();
  const kept = await Promise.all(sessions.map(async ({ id }) => fleet.store.peek(id)));
  reportFault({
    fault: `token endpoint away for ${SESSIONS} sessions at once`,
    answers,
    sessionsLost: kept.filter((found) => found === null).length,
    recoveredInMs,
  });
  const afterwards = refreshes.filter(({ at }) => at >= over).map(({ refreshToken }) => refreshToken);
  expect(afterwards).toHaveLength(new Set(afterwards).size);
  expect(spread(waits)).toBeGreaterThan(SPREAD_OVER_MS);
});

/** From its last failed try until its lock lets the next one in, ms. */
async function coolsDownFor({ id, grant }: Entered): Promise<number> {
  const lock = keyBesideSession('cloakroom:', 'refresh-lock', id);
  let leftMs = 0;
  // The answer waits for no clean-up; and where it came late, another try may have begun.
  await eventually(async () => {
    const [owner, ms] = await Promise.all([fleet.redis.get(lock), fleet.redis.pttl(lock)]);
    leftMs = ms;
    return owner === 'cooling' && ms > 0;
  });
  const tried = fleet.service.refreshes.findLast(({ refreshToken }) => refreshToken === grant.refreshToken);
  return performance.now() + leftMs - (tried?.at ?? NaN);
}

/** The time in which the middle half of these lies. */
function spread(times: readonly number[]): number {
  const inOrder = times.toSorted((a, b) => a - b);
  const at = (share: number) => inOrder[Math.floor(inOrder.length * share)] ?? NaN;
  return at(0.75) - at(0.25);
}
