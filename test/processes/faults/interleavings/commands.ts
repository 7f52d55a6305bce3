import { setTimeout as delay } from 'node:timers/promises';
import { fc } from '../../../support/properties.ts';
import * as actions from './actions.ts';
import { checkRun } from './checks.ts';
import type { Run } from './run.ts';
import {
  BARRIERS,
  LIFETIME_MS,
  type BarrierName,
  type Model,
  type RequestKind,
  type SessionModel,
} from './model.ts';

/** The clock steps after which a new token is refreshed in the background (20 s before its expiry) or has expired. */
const STEPS_MS = [LIFETIME_MS - 20_000, LIFETIME_MS];
/** Keeps a run shorter than the maximum session age of 12 h. */
const MAX_AHEAD_MS = 10 * 3_600_000;
const MAX_SESSIONS = 3;
const MAX_COMMANDS = 30;
/** How long to wait for a request whose progress can't be observed because another process is refreshing. */
const UNOBSERVED_WAIT_MS = 20;
/** A request usually reaches its barrier within this time. */
const ARRIVES_WITHIN_MS = 300;

const SESSION = fc.nat(MAX_SESSIONS - 1);
const PROCESS = fc.nat(1);
const BARRIER = fc.constantFrom(...BARRIERS);

/** Creates a command that calls `execute` and then checks the entire run. When a run fails, fast-check prints the command's name. */
function command(name: string, check: (model: Model) => boolean, execute: (run: Run) => Promise<void>) {
  return {
    check,
    async run(_model: Model, run: Run) {
      await execute(run);
      await checkRun(run);
    },
    toString: () => name,
  };
}

/** Picks the element at an index, modulo the length. */
function pick<T>(from: readonly T[], number: number): T {
  const picked = from[number % from.length];
  if (picked === undefined) throw new Error('there is nothing to pick from');
  return picked;
}

const notEnded = ({ sessions }: Model) => sessions.filter(({ state }) => state !== 'ended');
const hasTime = ({ aheadMs }: Model) => aheadMs < MAX_AHEAD_MS;

/** Generates a command for a session that has not ended. */
const onSession = (
  name: string,
  execute: (run: Run, session: SessionModel, process: number) => Promise<void>,
) =>
  fc.tuple(SESSION, PROCESS).map(([number, process]) =>
    command(
      `${name}(${number}, ${process})`,
      (model) => notEnded(model).length > 0,
      async (run) => execute(run, pick(notEnded(run.model), number), process),
    ),
  );

/** A request that is held at a barrier, with an expired or revoked token. */
interface HeldRequest {
  readonly barrier: BarrierName;
  readonly number: number;
  readonly process: number;
  readonly token: 'expired' | 'revoked';
}

const heldAt = (...barriers: readonly BarrierName[]) =>
  fc.record<HeldRequest>({
    barrier: fc.constantFrom(...barriers),
    number: SESSION,
    process: PROCESS,
    token: fc.constantFrom('expired', 'revoked'),
  });

/**
 * Sends a request that a barrier holds, and then calls `execute`, so that random commands run in the middle of a refresh.
 * `isReached` tells `execute` whether the request reached the barrier in time.
 */
function commandAtBarrier(
  name: string,
  { barrier, number, process, token }: HeldRequest,
  execute: (run: Run, session: SessionModel, isReached: boolean) => Promise<void>,
  { withinMs = ARRIVES_WITHIN_MS, check = hasTime } = {},
) {
  return command(
    `${name}(${barrier}, ${number}, ${process}, ${token})`,
    (model) => notEnded(model).length > 0 && check(model),
    async (run) => {
      const session = pick(notEnded(run.model), number);
      actions.hold(run, barrier);
      if (token === 'expired') await actions.expireTokens(run, LIFETIME_MS);
      else await actions.revokeAccess(run, session);
      const response = actions.sendRequest(run, session, process, 'api');
      const reached = run.barriers[barrier].reached().then(() => true);
      const isReached = Promise.race([reached, response.then(() => false), delay(withinMs, false)]);
      await execute(run, session, await isReached);
    },
  );
}

/**
 * Stops the lock holder so that the other process takes over. The holder is stopped before it reads the lock confirmation from
 * Redis, during its token request, or before the token response arrives.
 */
export const stopAt = (held: HeldRequest) =>
  commandAtBarrier(
    'stop',
    held,
    async (run, session, isReached) => {
      await actions.stopProcess(run, held.process);
      if (held.barrier === 'lock reply') actions.release(run, held.barrier);
      const isTakenOver = await actions.takeOver(run, session, 1 - held.process);
      if (isReached && isTakenOver) run.history.takenOver.push(held.barrier);
    },
    { check: (model) => model.stopped === null && hasTime(model) },
  );

export const CONTINUE = command(
  'continue',
  ({ stopped }) => stopped !== null,
  async (run) => actions.continueProcess(run),
);

const KIND = fc.oneof(
  { weight: 6, arbitrary: fc.constant<RequestKind>('api') },
  { weight: 2, arbitrary: fc.constant<RequestKind>('page') },
  { weight: 1, arbitrary: fc.constant<RequestKind>('status') },
);
const SEND = fc.tuple(SESSION, PROCESS, KIND, fc.boolean()).map(([number, process, kind, waits]) =>
  command(
    `send(${number}, ${process}, ${kind}${waits ? '' : ', without waiting'})`,
    () => true,
    async (run) => {
      const response = actions.sendRequest(run, pick(run.model.sessions, number), process, kind);
      if (!waits) return;
      if (run.model.held.size === 0 && run.model.stopped === null) await response;
      else await Promise.race([response, delay(UNOBSERVED_WAIT_MS)]);
    },
  ),
);
const SEND_TO_BARRIER = heldAt(...BARRIERS).map((held) =>
  commandAtBarrier('sendTo', held, async () => {}, { withinMs: UNOBSERVED_WAIT_MS }),
);
const RELEASE = fc.nat(BARRIERS.length - 1).map((number) =>
  command(
    `release(${number})`,
    ({ held }) => held.size > 0,
    async (run) => actions.release(run, pick([...run.model.held], number)),
  ),
);
const HOLD = BARRIER.map((barrier) =>
  command(
    `hold(${barrier})`,
    ({ held }) => !held.has(barrier),
    async (run) => actions.hold(run, barrier),
  ),
);
const EXPIRE = fc
  .constantFrom(...STEPS_MS)
  .map((ms) =>
    command(`expire(after ${ms / 1_000} s)`, hasTime, async (run) => actions.expireTokens(run, ms)),
  );
const CREATE_SESSION = fc.boolean().map((isExpired) =>
  command(
    `createSession(${isExpired ? 'expired' : 'unexpired'})`,
    ({ sessions }) => sessions.length < MAX_SESSIONS,
    async (run) => actions.createSession(run, isExpired ? 0 : LIFETIME_MS),
  ),
);
const FAIL_OR_REPAIR = fc.boolean().map((fails) =>
  command(
    fails ? 'failTokenEndpoint' : 'repairTokenEndpoint',
    ({ tokenEndpointFails }) => tokenEndpointFails !== fails,
    async ({ model }) => void (model.tokenEndpointFails = fails),
  ),
);
/** Kills a process only during a held token request, because starting another process takes as long as the rest of a run. */
const CRASH = PROCESS.map((process) =>
  command(
    `crash(${process})`,
    ({ held }) => held.has('token request') || held.has('token response'),
    async (run) => actions.crashProcess(run, process),
  ),
);
/** A holder loses its lock during its token request, and the other process takes the lock. */
const LOSE_LOCK = heldAt('token request', 'token response').map((held) =>
  commandAtBarrier('loseLock', held, async (run, session) => {
    await actions.loseLock(run, session);
    const response = actions.sendRequest(run, session, 1 - held.process, 'api');
    await Promise.race([response, delay(UNOBSERVED_WAIT_MS)]);
  }),
);

/** Generates random sequences of commands. */
export const COMMANDS = fc.commands<Model, Run, false>(
  [
    fc.oneof(
      { weight: 30, arbitrary: SEND },
      { weight: 16, arbitrary: SEND_TO_BARRIER },
      { weight: 14, arbitrary: RELEASE },
      { weight: 8, arbitrary: onSession('signOut', actions.signOut) },
      { weight: 6, arbitrary: HOLD },
      { weight: 6, arbitrary: EXPIRE },
      { weight: 6, arbitrary: onSession('revokeAccess', actions.revokeAccess) },
      { weight: 6, arbitrary: CREATE_SESSION },
      { weight: 4, arbitrary: FAIL_OR_REPAIR },
      { weight: 2, arbitrary: onSession('revokeGrant', actions.revokeGrant) },
      { weight: 2, arbitrary: CRASH },
      { weight: 6, arbitrary: heldAt('lock reply', 'token request', 'token response').map(stopAt) },
      { weight: 4, arbitrary: fc.constant(CONTINUE) },
      { weight: 6, arbitrary: LOSE_LOCK },
    ),
  ],
  { maxCommands: MAX_COMMANDS, size: 'max' },
);
