import { setTimeout as delay } from 'node:timers/promises';
import type { Barrier } from '../../../support/fleet/barrier.ts';
import { fc } from '../../../support/properties.ts';
import {
  sendRequest,
  createSession,
  expire,
  hold,
  release,
  revokeAccess,
  revokeGrant,
  signOut,
  crash,
  goOn,
  loseLock,
  standStill,
  takeOver,
} from './actions.ts';
import { checkRun } from './ending.ts';
import type { Run } from './run.ts';
import {
  BARRIERS,
  LIFETIME_MS,
  type RequestKind,
  type BarrierName,
  type Model,
  type SessionModel,
} from './model.ts';

/** Just before a token is expired, when it is refreshed in the background; and just after. */
const STEPS_MS = [LIFETIME_MS - 20_000, LIFETIME_MS];
/** Sessions end after twelve hours, whatever happens. */
const LONGEST_MS = 10 * 3_600_000;
const MOST_SESSIONS = 3;
const MOST_COMMANDS = 30;
/** A request that waits for another process's refresh can't be observed. */
const OUT_OF_SIGHT_MS = 20;
/** A holder that is to stand still at a barrier usually gets there within this time. */
const ARRIVES_WITHIN_MS = 300;

/** A command that checks the whole run when it is done; a failure prints its name. */
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

const SESSION = fc.nat(MOST_SESSIONS - 1);
const SLOT = fc.nat(1);
const BARRIER = fc.constantFrom(...BARRIERS);
const always = () => true;

/** Picks by a number, modulo the length. */
function pick<T>(from: readonly T[], number: number): T {
  const picked = from[number % from.length];
  if (picked === undefined) throw new Error('there is nothing to pick from');
  return picked;
}

const notEnded = ({ sessions }: Model): SessionModel[] => sessions.filter(({ fate }) => fate !== 'ended');
const anyNotEnded = (model: Model) => notEnded(model).length > 0;
const hasTime = ({ aheadMs }: Model) => aheadMs < LONGEST_MS;

const CREATE_SESSION = fc.boolean().map((isExpired) =>
  command(
    `createSession(${isExpired ? 'expired' : 'unexpired'})`,
    ({ sessions }) => sessions.length < MOST_SESSIONS,
    async (run) => createSession(run, isExpired ? 0 : LIFETIME_MS),
  ),
);

const KIND = fc.oneof(
  { weight: 6, arbitrary: fc.constant<RequestKind>('api') },
  { weight: 2, arbitrary: fc.constant<RequestKind>('page') },
  { weight: 1, arbitrary: fc.constant<RequestKind>('status') },
);
const CALL = fc.tuple(SESSION, SLOT, KIND, fc.boolean()).map(([number, slot, kind, waits]) =>
  command(`sendRequest(${number}, ${slot}, ${kind}${waits ? '' : ', goes on'})`, always, async (run) => {
    const response = sendRequest(run, pick(run.model.sessions, number), slot, kind);
    if (!waits) return;
    if (run.model.held.size === 0 && run.model.stopped === null) await response;
    else await Promise.race([response, delay(OUT_OF_SIGHT_MS)]);
  }),
);

/**
 * Sends a request with an expired or revoked token, so that random commands run in the middle of a refresh. Resolves with whether
 * it reached the barrier.
 */
async function sendTo(
  run: Run,
  barrier: Barrier,
  [session, slot, why]: readonly [SessionModel, number, string],
  withinMs = OUT_OF_SIGHT_MS,
): Promise<boolean> {
  if (why === 'expired') await expire(run, LIFETIME_MS);
  else await revokeAccess(run, session);
  const response = sendRequest(run, session, slot, 'api');
  const reached = barrier.reached().then(() => true);
  return Promise.race([reached, response.then(() => false), delay(withinMs, false)]);
}

const SEND_TO_BARRIER = fc
  .tuple(SESSION, SLOT, BARRIER, fc.constantFrom('expired', 'revoked'))
  .map(([number, slot, barrier, why]) =>
    command(
      `sendTo(${barrier}, ${number}, ${slot}, ${why})`,
      (model) => anyNotEnded(model) && hasTime(model),
      async (run) => {
        hold(run, barrier);
        await sendTo(run, run.barriers[barrier], [pick(notEnded(run.model), number), slot, why]);
      },
    ),
  );

const HOLD = BARRIER.map((barrier) =>
  command(
    `hold(${barrier})`,
    ({ held }) => !held.has(barrier),
    async (run) => hold(run, barrier),
  ),
);
const RELEASE = fc.nat(BARRIERS.length - 1).map((number) =>
  command(
    `release(${number})`,
    ({ held }) => held.size > 0,
    async (run) => release(run, pick([...run.model.held], number)),
  ),
);

const EXPIRE = fc
  .constantFrom(...STEPS_MS)
  .map((ms) => command(`expire(after ${ms / 1_000} s)`, hasTime, async (run) => expire(run, ms)));
const REVOKE_ACCESS = SESSION.map((number) =>
  command(`revokeAccess(${number})`, anyNotEnded, async (run) =>
    revokeAccess(run, pick(notEnded(run.model), number)),
  ),
);
const REVOKE_GRANT = SESSION.map((number) =>
  command(`revokeGrant(${number})`, anyNotEnded, async (run) =>
    revokeGrant(run, pick(notEnded(run.model), number)),
  ),
);
const SIGN_OUT = fc
  .tuple(SESSION, SLOT)
  .map(([number, slot]) =>
    command(`signOut(${number}, ${slot})`, anyNotEnded, async (run) =>
      signOut(run, pick(notEnded(run.model), number), slot),
    ),
  );

const FAIL_OR_MEND = fc.constantFrom(true, false).map((fails) =>
  command(
    fails ? 'failTokenEndpoint' : 'mendTokenEndpoint',
    ({ tokenEndpointFails }) => tokenEndpointFails !== fails,
    async ({ model }) => void (model.tokenEndpointFails = fails),
  ),
);

/** A new process costs as much as all else in a run: only where somebody waits for the token endpoint. */
const CRASH = SLOT.map((slot) =>
  command(
    `crash(${slot})`,
    ({ held }) => held.has('token request') || held.has('token response'),
    async (run) => crash(run, slot),
  ),
);

/**
 * A process stands still with the lock in its hand: before it has read Redis's word that it has the lock, with its token request at the
 * service, or with the response on its way. The other process takes over.
 */
export function standStillAt(where: BarrierName | 'lock reply', number: number, slot: number, why: string) {
  return command(
    `standStill(${where}, ${number}, ${slot}, ${why})`,
    (model) => model.stopped === null && anyNotEnded(model) && hasTime(model),
    async (run) => {
      const session = pick(notEnded(run.model), number);
      if (where === 'lock reply') run.lockReply.hold();
      else hold(run, where);
      const barrier = where === 'lock reply' ? run.lockReply : run.barriers[where];
      const isReached = await sendTo(run, barrier, [session, slot, why], ARRIVES_WITHIN_MS);
      await standStill(run, slot);
      run.lockReply.release();
      const isTakenOver = await takeOver(run, session, 1 - slot);
      if (isReached && isTakenOver) run.history.takenOver.push(where);
    },
  );
}
const STAND_STILL = fc
  .tuple(
    fc.constantFrom<BarrierName | 'lock reply'>('lock reply', 'token request', 'token response'),
    SESSION,
    SLOT,
    fc.constantFrom('expired', 'revoked'),
  )
  .map((args) => standStillAt(...args));
/** The stopped process continues. */
export const GOES_ON = command(
  'goOn',
  ({ stopped }) => stopped !== null,
  async (run) => goOn(run),
);
const GO_ON = fc.constant(GOES_ON);
/** A holder loses its lock while its token request is under way, and the other process takes the lock. */
const LOSE_LOCK = fc
  .tuple(
    SESSION,
    SLOT,
    fc.constantFrom<BarrierName>('token request', 'token response'),
    fc.constantFrom('expired', 'revoked'),
  )
  .map(([number, slot, barrier, why]) =>
    command(
      `loseLock(${barrier}, ${number}, ${slot}, ${why})`,
      (model) => anyNotEnded(model) && hasTime(model),
      async (run) => {
        const session = pick(notEnded(run.model), number);
        hold(run, barrier);
        await sendTo(run, run.barriers[barrier], [session, slot, why], ARRIVES_WITHIN_MS);
        await loseLock(run, session);
        await Promise.race([sendRequest(run, session, 1 - slot, 'api'), delay(OUT_OF_SIGHT_MS)]);
      },
    ),
  );

/** Everything that can happen in a run, in any order. */
export const COMMANDS = fc.commands<Model, Run, false>(
  [
    fc.oneof(
      { weight: 30, arbitrary: CALL },
      { weight: 16, arbitrary: SEND_TO_BARRIER },
      { weight: 14, arbitrary: RELEASE },
      { weight: 8, arbitrary: SIGN_OUT },
      { weight: 6, arbitrary: HOLD },
      { weight: 6, arbitrary: EXPIRE },
      { weight: 6, arbitrary: REVOKE_ACCESS },
      { weight: 6, arbitrary: CREATE_SESSION },
      { weight: 4, arbitrary: FAIL_OR_MEND },
      { weight: 2, arbitrary: REVOKE_GRANT },
      { weight: 2, arbitrary: CRASH },
      { weight: 6, arbitrary: STAND_STILL },
      { weight: 4, arbitrary: GO_ON },
      { weight: 6, arbitrary: LOSE_LOCK },
    ),
  ],
  { maxCommands: MOST_COMMANDS, size: 'max' },
);
