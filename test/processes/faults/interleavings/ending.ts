import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../../../support/eventually.ts';
import { startStopwatch } from '../../../support/stopwatch.ts';
import { call, expire, passTime, release } from './actions.ts';
import { lockOwner, sessionKey, type TestApp } from './test-app.ts';
import { GATES, LIFETIME_MS, type SessionModel } from './model.ts';
import { goOn } from './stops.ts';

/** The longest lock of a dead process, and a renewal after it. */
const SETTLES_WITHIN_MS = 15_000;
/** After a renewal that failed there is none for a second. */
const LOOK_AGAIN_MS = 250;
const TOMBSTONE = 'ended';

/** Throws what is not allowed: what was seen so far, and what stands in Redis now. */
export async function look({ fleet, model, ledger, complaints, history }: TestApp): Promise<void> {
  const { redis } = fleet;
  for (const session of model.sessions) {
    const wasOver = session.fate === 'ended'; // not only while we look
    const value = await redis.get(sessionKey(session));
    const hasRecord = value !== null && value !== TOMBSTONE;
    if (hasRecord) await ledger.judgeStanding(session);
    if (wasOver && hasRecord) complaints.push(`${session.user}'s session is back`);
    if (session.fate !== 'alive' || hasRecord) continue;
    complaints.push(`${session.user}'s session is lost`);
    history.lost.add(session);
  }
  for (const key of await redis.keys('cloakroom:*')) {
    if ((await redis.pttl(key)) === -1) complaints.push(`${key} has no time to live`);
  }
  if (complaints.length > 0) throw new Error([...new Set(complaints)].join('\n'));
}

/** Lets everything go on, and waits until nothing is under way. */
export async function settle(testApp: TestApp): Promise<void> {
  const { model, underWay, ledger } = testApp;
  model.tokenEndpointFails = false;
  for (const gate of GATES) release(testApp, gate);
  testApp.lockReply.release();
  goOn(testApp);
  await eventually(async () => {
    if (underWay.size > 0 || ledger.isBusy()) return false;
    const owners = await Promise.all(model.sessions.map(async (session) => lockOwner(testApp, session)));
    return owners.every((owner) => owner === null || owner === 'cooling');
  }, SETTLES_WITHIN_MS);
}

/**
 * After a run: every token is spent once more and every session used at both processes. What was lost on the way shows
 * here at the latest, since a refresh token that is not the newest is worth nothing.
 */
export async function useAll(testApp: TestApp): Promise<void> {
  const { model, fleet } = testApp;
  await expire(testApp, LIFETIME_MS);
  await Promise.all(
    model.sessions.flatMap((session) =>
      fleet.processes.map(async (_, slot) => useUp(testApp, session, slot)),
    ),
  );
  for (const { user, isDoomed, fate } of model.sessions) {
    if (isDoomed && fate !== 'ended') testApp.complaints.push(`${user}'s session outlives its grant`);
  }
}

/** Calls until a response shows what has become of the session: a renewal may have failed just before. */
async function useUp(testApp: TestApp, session: SessionModel, slot: number): Promise<void> {
  using watch = startStopwatch();
  for (;;) {
    const { status } = await call(testApp, session, slot, 'api');
    if (status !== 503) return;
    if (watch.ms() > SETTLES_WITHIN_MS) throw new Error(`${session.user}'s session finds no token any more`);
    await delay(LOOK_AGAIN_MS);
  }
}

/** Leaves the fleet to the next run as this one found it, whatever came of it. */
export async function cleanUp(testApp: TestApp): Promise<void> {
  await settle(testApp).catch(() => {}); // the run has failed before, and for another reason
  await passTime(testApp, -testApp.model.aheadMs);
  await testApp.fleet.redis.flushall();
}
