import { setTimeout as delay } from 'node:timers/promises';
import { eventually } from '../../../support/eventually.ts';
import { startStopwatch } from '../../../support/stopwatch.ts';
import { sendRequest, expire, passTime, release, goOn } from './actions.ts';
import { lockOwner, sessionKey, type Run } from './run.ts';
import { BARRIERS, LIFETIME_MS, type SessionModel } from './model.ts';

/** The longest lock of a dead process, and a refresh after it. */
const SETTLES_WITHIN_MS = 15_000;
/** After a refresh that failed there is none for a second. */
const LOOK_AGAIN_MS = 250;
const TOMBSTONE = 'ended';

/** Throws what is not allowed: what was seen so far, and what stands in Redis now. */
export async function checkRun({ fleet, model, ledger, violations, history }: Run): Promise<void> {
  const { redis } = fleet;
  for (const session of model.sessions) {
    const wasOver = session.fate === 'ended'; // not only while we look
    const value = await redis.get(sessionKey(session));
    const hasRecord = value !== null && value !== TOMBSTONE;
    if (hasRecord) await ledger.checkStored(session);
    if (wasOver && hasRecord) violations.push(`${session.user}'s session is back`);
    if (session.fate !== 'alive' || hasRecord) continue;
    violations.push(`${session.user}'s session is lost`);
    history.lost.add(session);
  }
  for (const key of await redis.keys('cloakroom:*')) {
    if ((await redis.pttl(key)) === -1) violations.push(`${key} has no time to live`);
  }
  if (violations.length > 0) throw new Error([...new Set(violations)].join('\n'));
}

/** Lets everything go on, and waits until nothing is under way. */
export async function settle(run: Run): Promise<void> {
  const { model, inFlight, ledger } = run;
  model.tokenEndpointFails = false;
  for (const barrier of BARRIERS) release(run, barrier);
  run.lockReply.release();
  goOn(run);
  await eventually(async () => {
    if (inFlight.size > 0 || ledger.isBusy()) return false;
    const owners = await Promise.all(model.sessions.map(async (session) => lockOwner(run, session)));
    return owners.every((owner) => owner === null || owner === 'cooling');
  }, SETTLES_WITHIN_MS);
}

/**
 * After a run: every token is expired once more and every session used at both processes. What was lost on the way shows
 * here at the latest, since a refresh token that is not the newest is worth nothing.
 */
export async function useAll(run: Run): Promise<void> {
  const { model, fleet } = run;
  await expire(run, LIFETIME_MS);
  await Promise.all(
    model.sessions.flatMap((session) => fleet.processes.map(async (_, slot) => useUp(run, session, slot))),
  );
  for (const { user, isRevoked, fate } of model.sessions) {
    if (isRevoked && fate !== 'ended') run.violations.push(`${user}'s session outlives its grant`);
  }
}

/** Calls until a response shows what has become of the session: a refresh may have failed just before. */
async function useUp(run: Run, session: SessionModel, slot: number): Promise<void> {
  using watch = startStopwatch();
  for (;;) {
    const { status } = await sendRequest(run, session, slot, 'api');
    if (status !== 503) return;
    if (watch.ms() > SETTLES_WITHIN_MS) throw new Error(`${session.user}'s session finds no token any more`);
    await delay(LOOK_AGAIN_MS);
  }
}

/** Leaves the fleet to the next run as this one found it, whatever came of it. */
export async function cleanUp(run: Run): Promise<void> {
  await settle(run).catch(() => {}); // the run has failed before, and for another reason
  await passTime(run, -run.model.aheadMs);
  await run.fleet.redis.flushall();
}
