import { readFile } from 'node:fs/promises';
import { setTimeout as delay } from 'node:timers/promises';
import { keyBesideSession } from '../../../../src/session/store.ts';
import { TOKEN_AGE_MS } from '../../../support/constants.ts';
import { eventually } from '../../../support/eventually.ts';
import { send, signOut as sendSignOut, type FleetResponse } from '../../../support/fleet/requests.ts';
import {
  REQUESTS,
  checkResponse,
  markDue,
  markEnded,
  markUnsure,
  toSessionModel,
  type BarrierName,
  type RequestKind,
  type SessionModel,
} from './model.ts';
import { lockOwner, processAt, traceOf, type Run } from './run.ts';

const DELETE_IF_OWNER = `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`;
/** Longer than a lock lives. */
const STANDSTILL_MS = 6_000;
/** For the other process so much time passes between two looks, until it gives the holder up or has waited for too long. */
const SKIP_MS = 500;
const LOOK_MS = 20;
const MOST_SKIPS = 50;

/** A failed refresh stands for those that follow it for a second and a half; the rest is for a busy machine. */
const FAILURE_STANDS_MS = 5_000;

/** A session of one more user's, as sign-in would have made it; its access token lives for so long yet. */
export async function createSession({ fleet, model, ledger }: Run, livesForMs: number): Promise<void> {
  const user = `user-${model.sessions.length}`;
  const expiresAt = Date.now() + model.aheadMs + livesForMs;
  const stored = await fleet.createSession(user, { expiresAt });
  const session = toSessionModel(user, stored);
  model.sessions.push(session);
  ledger.begins(session, stored.grant);
  if (livesForMs === 0) markDue(model, session);
}

/** Sends a request to one process, and checks the response when it comes. */
export async function sendRequest(
  run: Run,
  session: SessionModel,
  slot: number,
  kind: RequestKind,
): Promise<FleetResponse> {
  const { model, killed, standstills, ledger, inFlight } = run;
  const cloakroom = processAt(run, slot);
  const startedAt = performance.now();
  const standstillsBefore = standstills.length;
  const made = {
    session,
    kind,
    began: model.moment(),
    revocationsBefore: session.revocations,
    isKilled: () => killed.has(cloakroom),
    stoodStill: () => standstills.includes(cloakroom.pid, standstillsBefore),
    sawFailure: () => ledger.failedAt(session) > startedAt - FAILURE_STANDS_MS,
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
  const violation = checkResponse(model, made, response);
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
export async function passTime({ fleet, model }: Run, ms: number): Promise<void> {
  model.aheadMs += ms;
  await Promise.all(fleet.processes.map(async (cloakroom) => cloakroom.setClock(model.aheadMs)));
}

/** Passes so much time that every access token is expired, or soon will be. */
export async function expire(run: Run, ms: number): Promise<void> {
  const markAllDue = () => {
    for (const session of run.model.sessions) markDue(run.model, session);
  };
  markAllDue(); // one process hears of the time before the other, and may act on it at once
  await passTime(run, ms);
  markAllDue();
}

/** Signs out at one of the processes: what begins after the response must be refused. */
export async function signOut(run: Run, session: SessionModel, slot: number): Promise<void> {
  markUnsure(session);
  const { url } = processAt(run, slot);
  const response = await sendSignOut(url, session.stored.cookie);
  if (response.status !== 303) run.violations.push(`sign-out is answered with ${response.status}`);
  markEnded(run.model, session);
}

/** The service no longer takes the access token that stands in the session's record, which is 31 seconds old by then. */
export async function revokeAccess(run: Run, session: SessionModel): Promise<void> {
  const { fleet, model } = run;
  // Looked up before the time passes: a refresh under way may store a token meanwhile, and that one is young.
  const found = await fleet.store.peek(session.stored.id);
  await passTime(run, TOKEN_AGE_MS);
  if (found === null) return;
  session.revocations += 1;
  await fleet.service.revokeAccess(found.session.record.grant.accessToken);
  markDue(model, session);
}

/** The service no longer takes any token of the session's. */
export async function revokeGrant({ fleet, model }: Run, session: SessionModel): Promise<void> {
  markUnsure(session);
  session.isRevoked = true;
  session.revocations += 1;
  await fleet.service.revokeGrant(session.stored.grant.accessToken);
  markDue(model, session);
}

/** Takes the lock of a refresh away while its holder lives, as a Redis does that fails over. */
export async function loseLock({ fleet }: Pick<Run, 'fleet'>, { stored }: SessionModel): Promise<void> {
  await fleet.redis.del(keyBesideSession('cloakroom:', 'refresh-lock', stored.id));
}

/** Stops a process (SIGSTOP) for longer than locks live: none is left when it goes on, and its clock tells. */
export async function standStill(run: Run, slot: number): Promise<void> {
  const { model, fleet, ledger } = run;
  const cloakroom = processAt(run, slot);
  process.kill(cloakroom.pid, 'SIGSTOP');
  model.stopped = slot;
  run.standstills.push(cloakroom.pid);
  await eventually(async () => / T /.test(await readFile(`/proc/${cloakroom.pid}/stat`, 'utf8')));
  await cloakroom.skipTime(STANDSTILL_MS);
  await ledger.standsStill(cloakroom.pid);
  await Promise.all(model.sessions.map(async (session) => loseLock({ fleet }, session)));
}

/**
 * Uses a session at a process that lives, until that has given up the holder of the lock, which stands still. Resolves with whether
 * the process has sent a token request of its own.
 */
export async function takeOver(run: Run, session: SessionModel, slot: number): Promise<boolean> {
  const cloakroom = processAt(run, slot);
  const response = sendRequest(run, session, slot, 'api').then(() => true);
  for (let skips = 0; skips < MOST_SKIPS; skips += 1) {
    if (run.ledger.latest(session)?.by === cloakroom.pid) return true;
    if (await Promise.race([response, delay(LOOK_MS, false)])) break;
    await cloakroom.skipTime(SKIP_MS);
  }
  return run.ledger.latest(session)?.by === cloakroom.pid;
}

/** Lets the stopped process continue. */
export function goOn({ fleet, model }: Run): void {
  const cloakroom = fleet.processes[model.stopped ?? NaN];
  model.stopped = null;
  if (cloakroom !== undefined) process.kill(cloakroom.pid, 'SIGCONT');
}

/**
 * kill -9 of a process, and a new one in its place. A lock that it held for a refresh at the token endpoint is taken
 * away at once, as if the five seconds were over in which it runs out.
 */
export async function crash(run: Run, slot: number): Promise<void> {
  const { fleet, model, ledger } = run;
  const cloakroom = processAt(run, slot);
  const owners = await Promise.all(model.sessions.map(async (session) => lockOwner(run, session)));

  run.killed.add(cloakroom);
  await cloakroom.kill();
  await excuseUnstored(run);
  const fresh = await fleet.replace(cloakroom);
  await excuseUnstored(run); // and responses sent before the service saw the connection close
  await fresh.setClock(model.aheadMs);

  for (const [at, session] of model.sessions.entries()) {
    if (ledger.latest(session)?.outcome !== 'given up') continue;
    const key = keyBesideSession('cloakroom:', 'refresh-lock', session.stored.id);
    await fleet.redis.eval(DELETE_IF_OWNER, 1, key, owners[at] ?? '');
  }
}

/** Answers of the token endpoint that had left for the dead process, and that it had not stored. */
async function excuseUnstored({ fleet, model, ledger, rotates }: Run): Promise<void> {
  for (const session of model.sessions) {
    const latest = ledger.latest(session);
    if (latest?.outcome !== 'refreshed') continue;
    const found = await fleet.store.peek(session.stored.id);
    if (found?.session.record.grant.accessToken === latest.accessToken) continue;
    latest.isExcused = true;
    if (rotates) markUnsure(session);
  }
}
