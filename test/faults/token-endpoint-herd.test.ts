import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { setTimeout as delay } from 'node:timers/promises';
import { keyBesideSession } from '../../src/session/session-records.ts';
import { call, closeCalls, startLoad } from '../support/fleet/calls.ts';
import { reportFault } from '../support/fleet/report.ts';
import { startFleet } from '../support/fleet/fleet.ts';
import type { Entered, Fleet } from '../support/fleet/fleet.ts';
import { TOKEN_PATH } from '../support/fleet/service.ts';

const SESSIONS = 40;
/** Each session is called with so often, so that a renewal follows as soon as Cloakroom allows it. */
const ASK_EVERY_MS = 80;
/** Half of them are further apart than this; without jitter they would be as close as the failures. */
const SPREAD_OVER_MS = 120;

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
  await Promise.all(loads.map(async (load) => load.next(503)));
  const waits = await Promise.all(sessions.map(coolsDownFor));

  fleet.service.intercept = () => false;
  const over = performance.now();
  await Promise.race(loads.map(async (load) => load.next(200)));
  const recoveredInMs = performance.now() - over;
  await Promise.all(loads.map(async (load) => load.next(200)));
  const answers = (await Promise.all(loads.map(async (load) => load.stop()))).flat();
  const kept = await Promise.all(sessions.map(async ({ id }) => fleet.records.peek(id)));
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

/** From its failed try until its lock lets the next one in, ms. */
async function coolsDownFor({ id, grant }: Entered): Promise<number> {
  const tried = fleet.service.refreshes.find(({ refreshToken }) => refreshToken === grant.refreshToken);
  const leftMs = await fleet.redis.pttl(keyBesideSession('cloakroom:', 'renewal', id));
  return performance.now() + leftMs - (tried?.at ?? NaN);
}

/** The time in which the middle half of these lies. */
function spread(times: readonly number[]): number {
  const inOrder = times.toSorted((a, b) => a - b);
  const at = (share: number) => inOrder[Math.floor(inOrder.length * share)] ?? NaN;
  return at(0.75) - at(0.25);
}
