import { TOKEN_AGE_MS } from '../../../support/constants.ts';
import { send, signOut as sendSignOut, type FleetResponse } from '../../../support/fleet/requests.ts';
import { processAt, traceOf, type TestApp } from './test-app.ts';
import { QUESTIONS, judge, type Question } from './judge.ts';
import { markEnded, markDue, markUnsure, toSessionModel, type GateName, type SessionModel } from './model.ts';

/** A failed renewal stands for those that follow it for a second and a half; the rest is for a busy machine. */
const FAILURE_STANDS_MS = 5_000;

/** A session of one more user's, as sign-in would have made it; its access token lives for so long yet. */
export async function enter({ fleet, model, ledger }: TestApp, livesForMs: number): Promise<void> {
  const user = `user-${model.sessions.length}`;
  const expiresAt = Date.now() + model.aheadMs + livesForMs;
  const entered = await fleet.createSession(user, { expiresAt });
  const session = toSessionModel(user, entered);
  model.sessions.push(session);
  ledger.begins(session, entered.grant);
  if (livesForMs === 0) markDue(model, session);
}

/** Calls one of the processes; the response is judged when it comes. */
export async function call(
  testApp: TestApp,
  session: SessionModel,
  slot: number,
  question: Question,
): Promise<FleetResponse> {
  const { model, killed, standstills, ledger, underWay } = testApp;
  const cloakroom = processAt(testApp, slot);
  const startedAt = performance.now();
  const standstillsBefore = standstills.length;
  const made = {
    session,
    question,
    began: model.moment(),
    revocationsBefore: session.revocations,
    isKilled: () => killed.has(cloakroom),
    stoodStill: () => standstills.includes(cloakroom.pid, standstillsBefore),
    sawFailure: () => ledger.failedAt(session) > startedAt - FAILURE_STANDS_MS,
  };
  const { path, headers } = QUESTIONS[question];
  const called = send(cloakroom.url, session.entered.cookie, {
    path,
    headers: { ...headers, traceparent: traceOf(cloakroom) },
  });
  underWay.add(called);
  const response = await called;
  underWay.delete(called);
  testApp.history.responses.push(response);
  const complaint = judge(model, made, response);
  if (complaint !== null) testApp.complaints.push(complaint);
  return response;
}

/** Holds everyone who comes to a gate. */
export function hold({ model, gates }: TestApp, gate: GateName): void {
  model.held.add(gate);
  gates[gate].hold();
}

/** Lets all who stand at a gate go on. */
export function release({ model, gates }: TestApp, gate: GateName): void {
  model.held.delete(gate);
  gates[gate].release();
}

/** Moves the clocks of all processes on. */
export async function passTime({ fleet, model }: TestApp, ms: number): Promise<void> {
  model.aheadMs += ms;
  await Promise.all(fleet.processes.map(async (cloakroom) => cloakroom.setClock(model.aheadMs)));
}

/** Passes so much time that every access token is spent, or soon will be. */
export async function expire(testApp: TestApp, ms: number): Promise<void> {
  const markAllDue = () => {
    for (const session of testApp.model.sessions) markDue(testApp.model, session);
  };
  markAllDue(); // one process hears of the time before the other, and may act on it at once
  await passTime(testApp, ms);
  markAllDue();
}

/** Signs out at one of the processes: what begins after the response must be refused. */
export async function signOut(testApp: TestApp, session: SessionModel, slot: number): Promise<void> {
  markUnsure(session);
  const { url } = processAt(testApp, slot);
  const response = await sendSignOut(url, session.entered.cookie);
  if (response.status !== 303) testApp.complaints.push(`sign-out is answered with ${response.status}`);
  markEnded(testApp.model, session);
}

/** The service no longer takes the access token that stands in the session's record, which is 31 seconds old by then. */
export async function revokeAccess(testApp: TestApp, session: SessionModel): Promise<void> {
  const { fleet, model } = testApp;
  // Looked up before the time passes: a refresh under way may store a token meanwhile, and that one is young.
  const found = await fleet.store.peek(session.entered.id);
  await passTime(testApp, TOKEN_AGE_MS);
  if (found === null) return;
  session.revocations += 1;
  await fleet.service.revokeAccess(found.session.record.grant.accessToken);
  markDue(model, session);
}

/** The service no longer takes any token of the session's. */
export async function revokeGrant({ fleet, model }: TestApp, session: SessionModel): Promise<void> {
  markUnsure(session);
  session.isDoomed = true;
  session.revocations += 1;
  await fleet.service.revokeGrant(session.entered.grant.accessToken);
  markDue(model, session);
}
