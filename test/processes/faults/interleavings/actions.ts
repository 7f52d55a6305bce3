import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { TOKEN_AGE_MS } from '../../../support/constants.ts';
import { eventually } from '../../../support/eventually.ts';
import { send, signOut as sendSignOut, type FleetResponse } from '../../../support/fleet/requests.ts';
import {
  REQUESTS,
  checkResponse,
  markRefreshDue,
  markEnded,
  markUncertain,
  type BarrierName,
  type RequestKind,
  type SessionModel,
} from './model.ts';
import { lockKey, processAt, traceOf, type Run } from './run.ts';

const DELETE_IF_OWNER = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;
/** Longer than the lifetime of a lock. */
const STOP_MS = 6_000;
/** Each poll advances the clock of the waiting process by this much, until that process takes over or gives up. */
const SKIP_MS = 500;
const POLL_MS = 20;
const MAX_SKIPS = 50;
/** Requests share the outcome of a failed refresh for up to 1.5 s. The margin allows for a busy machine. */
const FAILURE_SHARED_MS = 5_000;

/** Creates a session for a new user, with an access token that expires after this time. */
export async function createSession({ fleet, model, ledger }: Run, expiresInMs: number): Promise<void> {
  const user = `user-${model.sessions.length}`;
  const stored = await fleet.createSession(user, { expiresAt: Date.now() + model.aheadMs + expiresInMs });
  const session: SessionModel = {
    user,
    stored,
    state: 'active',
    isRevoked: false,
    endedAt: Infinity,
    refreshDueAt: -Infinity,
    revocations: 0,
  };
  model.sessions.push(session);
  ledger.addSession(session, stored.grant);
  if (expiresInMs === 0) markRefreshDue(model, session);
}

/** Sends a request to one process and checks the response. */
export async function sendRequest(
  run: Run,
  session: SessionModel,
  index: number,
  kind: RequestKind,
): Promise<FleetResponse> {
  const { model, killed, stops, ledger, inFlight } = run;
  const cloakroom = processAt(run, index);
  const sentAt = performance.now();
  const stopsBefore = stops.length;
  const request = {
    session,
    kind,
    startedAt: model.tick(),
    revocationsBefore: session.revocations,
    wasKilled: () => killed.has(cloakroom),
    wasStopped: () => stops.includes(cloakroom.pid, stopsBefore),
    sawFailure: () => ledger.failedAt(session) > sentAt - FAILURE_SHARED_MS,
  };
  const { path, headers } = REQUESTS[kind];
  const responding = send(cloakroom.url, session.stored.cookie, {
    path,
    headers: { ...headers, traceparent: traceOf(cloakroom) },
  });
  inFlight.add(responding);
  const response = await responding;
  inFlight.delete(responding);
  run.history.responses.push(response);
  const violation = checkResponse(model, request, response);
  if (violation !== null) run.violations.push(violation);
  return response;
}

export function hold({ model, barriers }: Run, barrier: BarrierName): void {
  model.held.add(barrier);
  barriers[barrier].hold();
}

export function release({ model, barriers }: Run, barrier: BarrierName): void {
  model.held.delete(barrier);
  barriers[barrier].release();
}

/** Moves the clocks of all processes forward. */
export async function advanceClocks({ fleet, model }: Run, ms: number): Promise<void> {
  model.aheadMs += ms;
  await Promise.all(fleet.processes.map(async (cloakroom) => cloakroom.setClockSkew(model.aheadMs)));
}

/** Moves the clocks forward until every access token has expired or is about to expire. */
export async function expireTokens(run: Run, ms: number): Promise<void> {
  const markAllDue = () => {
    for (const session of run.model.sessions) markRefreshDue(run.model, session);
  };
  markAllDue(); // the process whose clock moves first may refresh immediately
  await advanceClocks(run, ms);
  markAllDue();
}

/** Signs out through one of the processes. Requests that start after the sign-out response must be refused. */
export async function signOut(run: Run, session: SessionModel, index: number): Promise<void> {
  markUncertain(session);
  const { status } = await sendSignOut(processAt(run, index).url, session.stored.cookie);
  if (status !== 303) run.violations.push(`the response to a sign-out has status ${status}`);
  markEnded(run.model, session);
}

/** Advances the clocks by 31 s and makes the service refuse the access token in the session record. */
export async function revokeAccess(run: Run, session: SessionModel): Promise<void> {
  const { fleet, model } = run;
  // Read the grant before the clocks move, because a refresh in progress may store a newer token while they move.
  const grant = await fleet.storedGrant(session.stored);
  await advanceClocks(run, TOKEN_AGE_MS);
  if (grant === null) return;
  session.revocations += 1;
  await fleet.service.revokeAccess(grant.accessToken);
  markRefreshDue(model, session);
}

/** Makes the service refuse all tokens of the session. */
export async function revokeGrant({ fleet, model }: Run, session: SessionModel): Promise<void> {
  markUncertain(session);
  session.isRevoked = true;
  session.revocations += 1;
  await fleet.service.revokeGrant(session.stored.grant.accessToken);
  markRefreshDue(model, session);
}

/** Deletes a refresh lock while its holder is running, as can happen in a Redis failover. */
export async function loseLock({ fleet }: Run, session: SessionModel): Promise<void> {
  await fleet.redis.del(lockKey(session));
}

/** Stops a process (SIGSTOP), advances its clock by more than the lifetime of a lock, and deletes all locks. */
export async function stopProcess(run: Run, index: number): Promise<void> {
  const { model, ledger } = run;
  const cloakroom = processAt(run, index);
  process.kill(cloakroom.pid, 'SIGSTOP');
  model.stopped = index;
  run.stops.push(cloakroom.pid);
  await eventually(async () => / T /.test(await readFile(`/proc/${cloakroom.pid}/stat`, 'utf8')));
  await cloakroom.advanceMonotonicClock(STOP_MS);
  await ledger.recordStop(cloakroom.pid);
  await Promise.all(model.sessions.map(async (session) => loseLock(run, session)));
}

/**
 * Sends a request to a process, and advances its clock until the process takes over the refresh or responds. Resolves with
 * whether the process has sent a token request.
 */
export async function takeOver(run: Run, session: SessionModel, index: number): Promise<boolean> {
  const cloakroom = processAt(run, index);
  const response = sendRequest(run, session, index, 'api').then(() => true);
  for (let skips = 0; skips < MAX_SKIPS; skips += 1) {
    if (run.ledger.latest(session)?.pid === cloakroom.pid) return true;
    if (await Promise.race([response, delay(POLL_MS, false)])) break;
    await cloakroom.advanceMonotonicClock(SKIP_MS);
  }
  return run.ledger.latest(session)?.pid === cloakroom.pid;
}

export function continueProcess({ fleet, model }: Run): void {
  const cloakroom = fleet.processes[model.stopped ?? NaN];
  model.stopped = null;
  if (cloakroom !== undefined) process.kill(cloakroom.pid, 'SIGCONT');
}

/** Kills a process (SIGKILL), replaces it, and deletes the locks of its token requests to avoid waiting 5 s. */
export async function crashProcess(run: Run, index: number): Promise<void> {
  const { fleet, model, ledger } = run;
  const cloakroom = processAt(run, index);
  const owners = await Promise.all(model.sessions.map(async (session) => fleet.redis.get(lockKey(session))));

  run.killed.add(cloakroom);
  await cloakroom.kill();
  await markUnstored(run);
  const fresh = await fleet.replace(cloakroom);
  await markUnstored(run); // covers responses that the service sent before it saw the connection close
  await fresh.setClockSkew(model.aheadMs);

  for (const [at, session] of model.sessions.entries()) {
    if (ledger.latest(session)?.outcome !== 'abandoned') continue;
    await fleet.redis.eval(DELETE_IF_OWNER, 1, lockKey(session), owners[at] ?? '');
  }
}

/** Marks the token responses that the killed process had not stored. */
async function markUnstored({ fleet, model, ledger, rotates }: Run): Promise<void> {
  for (const session of model.sessions) {
    const latest = ledger.latest(session);
    if (latest?.outcome !== 'refreshed') continue;
    if ((await fleet.storedGrant(session.stored))?.accessToken === latest.accessToken) continue;
    latest.mayRepeat = true;
    if (rotates) markUncertain(session);
  }
}
