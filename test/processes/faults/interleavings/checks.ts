import { setTimeout as delay } from 'node:timers/promises';
import { sessionKey } from '../../../../src/session/store.ts';
import { eventually } from '../../../support/eventually.ts';
import { startStopwatch } from '../../../support/stopwatch.ts';
import { continueProcess, expireTokens, advanceClocks, release, sendRequest } from './actions.ts';
import { lockKey, type Run } from './run.ts';
import { LIFETIME_MS, type BarrierName, type SessionModel } from './model.ts';

/** Long enough for the lock of a killed process to expire and for a refresh to follow. */
const SETTLES_WITHIN_MS = 15_000;
/** Much shorter than the one second that Cloakroom waits after a failed refresh. */
const RETRY_MS = 250;

/** Throws if the model does not allow a response or the state of Redis. */
export async function checkRun({ fleet, model, ledger, violations, history }: Run): Promise<void> {
  const { redis } = fleet;
  for (const session of model.sessions) {
    const hadEnded = session.state === 'ended'; // the session may end during the read from Redis
    const value = await redis.get(sessionKey('cloakroom:', session.stored.id));
    const hasRecord = value !== null && value !== 'ended';
    if (hasRecord) await ledger.checkStored(session);
    if (hadEnded && hasRecord) violations.push(`${session.user}'s ended session has a record`);
    if (session.state !== 'active' || hasRecord) continue;
    violations.push(`${session.user}'s session is lost`);
    history.lost.add(session);
  }
  for (const key of await redis.keys('cloakroom:*')) {
    if ((await redis.pttl(key)) === -1) violations.push(`${key} has no time to live`);
  }
  if (violations.length > 0) throw new Error([...new Set(violations)].join('\n'));
}

/** Releases all barriers and waits until no request or refresh is in progress. */
export async function settle(run: Run): Promise<void> {
  const { fleet, model, inFlight, ledger } = run;
  model.tokenEndpointFails = false;
  for (const barrier of Object.keys(run.barriers)) release(run, barrier as BarrierName);
  continueProcess(run);
  await eventually(async () => {
    if (inFlight.size > 0 || ledger.isBusy()) return false;
    const owners = await Promise.all(
      model.sessions.map(async (session) => fleet.redis.get(lockKey(session))),
    );
    return owners.every((owner) => owner === null || owner === 'cooling');
  }, SETTLES_WITHIN_MS);
}

/**
 * After a run, expires every token again and uses every session in both processes. Any session that still has an
 * outdated refresh token then ends.
 */
export async function useEverySession(run: Run): Promise<void> {
  const { model, fleet } = run;
  await expireTokens(run, LIFETIME_MS);
  await Promise.all(
    model.sessions.flatMap((session) => fleet.processes.map(async (_, index) => use(run, session, index))),
  );
  for (const { user, isRevoked, state } of model.sessions) {
    if (isRevoked && state !== 'ended') run.violations.push(`${user}'s session outlives its grant`);
  }
}

/** Sends requests until a response shows the state of the session, because a refresh may just have failed. */
async function use(run: Run, session: SessionModel, index: number): Promise<void> {
  using watch = startStopwatch();
  for (;;) {
    const { status } = await sendRequest(run, session, index, 'api');
    if (status !== 503) return;
    if (watch.ms() > SETTLES_WITHIN_MS) throw new Error(`${session.user}'s session got no token in time`);
    await delay(RETRY_MS);
  }
}

/** Restores the fleet for the next run. */
export async function resetFleet(run: Run): Promise<void> {
  await settle(run).catch(() => {}); // if this fails, the run has already failed
  await advanceClocks(run, -run.model.aheadMs);
  await run.fleet.redis.flushall();
}
