import { setTimeout as delay } from 'node:timers/promises';
import type { Barrier } from '../../../support/fleet/barrier.ts';
import { fc } from '../../../support/properties.ts';
import { call, enter, expire, hold, release, revokeAccess, revokeGrant, signOut } from './actions.ts';
import { look } from './ending.ts';
import type { TestApp } from './test-app.ts';
import type { Question } from './judge.ts';
import { GATES, LIFETIME_MS, type GateName, type Model, type SessionModel } from './model.ts';
import { crash, goOn, loseLock, standStill, takeOver } from './stops.ts';

/** Just before a token is spent, when it is renewed in the background; and just after. */
const STEPS_MS = [LIFETIME_MS - 20_000, LIFETIME_MS];
/** Sessions end after twelve hours, whatever is done. */
const LONGEST_MS = 10 * 3_600_000;
const MOST_SESSIONS = 3;
const MOST_COMMANDS = 30;
/** A call that waits for another process's renewal shows nowhere. */
const OUT_OF_SIGHT_MS = 20;
/** A holder that is to stand still at a gate gets there within this time, unless something else holds it up. */
const ARRIVES_WITHIN_MS = 300;

/** A command named for people, which looks at everything when it is done. */
function command(name: string, check: (model: Model) => boolean, run: (testApp: TestApp) => Promise<void>) {
  return {
    check,
    async run(_model: Model, testApp: TestApp) {
      await run(testApp);
      await look(testApp);
    },
    toString: () => name,
  };
}

const SESSION = fc.nat(MOST_SESSIONS - 1);
const SLOT = fc.nat(1);
const GATE = fc.constantFrom(...GATES);
const always = () => true;

/** Numbers go round. */
function pick<T>(from: readonly T[], number: number): T {
  const picked = from[number % from.length];
  if (picked === undefined) throw new Error('there is nothing to pick from');
  return picked;
}

const notEnded = ({ sessions }: Model): SessionModel[] => sessions.filter(({ fate }) => fate !== 'ended');
const anyNotEnded = (model: Model) => notEnded(model).length > 0;
const hasTime = ({ aheadMs }: Model) => aheadMs < LONGEST_MS;

const ENTER = fc.boolean().map((isSpent) =>
  command(
    `enter(${isSpent ? 'spent' : 'living'})`,
    ({ sessions }) => sessions.length < MOST_SESSIONS,
    async (testApp) => enter(testApp, isSpent ? 0 : LIFETIME_MS),
  ),
);

const QUESTION = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Question>('api') },
  { weight: 2, arbitrary: fc.constant<Question>('page') },
  { weight: 1, arbitrary: fc.constant<Question>('status') },
);
const CALL = fc.tuple(SESSION, SLOT, QUESTION, fc.boolean()).map(([number, slot, question, waits]) =>
  command(`call(${number}, ${slot}, ${question}${waits ? '' : ', goes on'})`, always, async (testApp) => {
    const called = call(testApp, pick(testApp.model.sessions, number), slot, question);
    if (!waits) return;
    if (testApp.model.held.size === 0 && testApp.model.stopped === null) await called;
    else await Promise.race([called, delay(OUT_OF_SIGHT_MS)]);
  }),
);

/**
 * A call with a token that is worth nothing any more: how random commands get into the middle of a renewal. Resolves with whether
 * the call has come to the gate.
 */
async function callTo(
  testApp: TestApp,
  gate: Barrier,
  [session, slot, why]: readonly [SessionModel, number, string],
  withinMs = OUT_OF_SIGHT_MS,
): Promise<boolean> {
  if (why === 'spent') await expire(testApp, LIFETIME_MS);
  else await revokeAccess(testApp, session);
  const called = call(testApp, session, slot, 'api');
  const reached = gate.reached().then(() => true);
  return Promise.race([reached, called.then(() => false), delay(withinMs, false)]);
}

const CALL_TO_GATE = fc
  .tuple(SESSION, SLOT, GATE, fc.constantFrom('spent', 'revoked'))
  .map(([number, slot, gate, why]) =>
    command(
      `callTo(${gate}, ${number}, ${slot}, ${why})`,
      (model) => anyNotEnded(model) && hasTime(model),
      async (testApp) => {
        hold(testApp, gate);
        await callTo(testApp, testApp.gates[gate], [pick(notEnded(testApp.model), number), slot, why]);
      },
    ),
  );

const HOLD = GATE.map((gate) =>
  command(
    `hold(${gate})`,
    ({ held }) => !held.has(gate),
    async (testApp) => hold(testApp, gate),
  ),
);
const RELEASE = fc.nat(GATES.length - 1).map((number) =>
  command(
    `release(${number})`,
    ({ held }) => held.size > 0,
    async (testApp) => release(testApp, pick([...testApp.model.held], number)),
  ),
);

const EXPIRE = fc
  .constantFrom(...STEPS_MS)
  .map((ms) => command(`expire(after ${ms / 1_000} s)`, hasTime, async (testApp) => expire(testApp, ms)));
const REVOKE_ACCESS = SESSION.map((number) =>
  command(`revokeAccess(${number})`, anyNotEnded, async (testApp) =>
    revokeAccess(testApp, pick(notEnded(testApp.model), number)),
  ),
);
const REVOKE_GRANT = SESSION.map((number) =>
  command(`revokeGrant(${number})`, anyNotEnded, async (testApp) =>
    revokeGrant(testApp, pick(notEnded(testApp.model), number)),
  ),
);
const SIGN_OUT = fc
  .tuple(SESSION, SLOT)
  .map(([number, slot]) =>
    command(`signOut(${number}, ${slot})`, anyNotEnded, async (testApp) =>
      signOut(testApp, pick(notEnded(testApp.model), number), slot),
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
    ({ held }) => held.has('token question') || held.has('token response'),
    async (testApp) => crash(testApp, slot),
  ),
);

/**
 * A process stands still with the lock in its hand: before it has read Redis's word that it has the lock, with its token request at the
 * service, or with the response on its way. The other process takes over.
 */
export function standStillAt(where: GateName | 'lock reply', number: number, slot: number, why: string) {
  return command(
    `standStill(${where}, ${number}, ${slot}, ${why})`,
    (model) => model.stopped === null && anyNotEnded(model) && hasTime(model),
    async (testApp) => {
      const session = pick(notEnded(testApp.model), number);
      if (where === 'lock reply') testApp.lockReply.hold();
      else hold(testApp, where);
      const gate = where === 'lock reply' ? testApp.lockReply : testApp.gates[where];
      const isReached = await callTo(testApp, gate, [session, slot, why], ARRIVES_WITHIN_MS);
      await standStill(testApp, slot);
      testApp.lockReply.release();
      const isTakenOver = await takeOver(testApp, session, 1 - slot);
      if (isReached && isTakenOver) testApp.history.takenOver.push(where);
    },
  );
}
const STAND_STILL = fc
  .tuple(
    fc.constantFrom<GateName | 'lock reply'>('lock reply', 'token question', 'token response'),
    SESSION,
    SLOT,
    fc.constantFrom('spent', 'revoked'),
  )
  .map((args) => standStillAt(...args));
/** The process that stands still goes on. */
export const GOES_ON = command(
  'goOn',
  ({ stopped }) => stopped !== null,
  async (testApp) => goOn(testApp),
);
const GO_ON = fc.constant(GOES_ON);
/** A holder loses its lock while its token request is under way, and the other process takes the lock. */
const LOSE_LOCK = fc
  .tuple(
    SESSION,
    SLOT,
    fc.constantFrom<GateName>('token question', 'token response'),
    fc.constantFrom('spent', 'revoked'),
  )
  .map(([number, slot, gate, why]) =>
    command(
      `loseLock(${gate}, ${number}, ${slot}, ${why})`,
      (model) => anyNotEnded(model) && hasTime(model),
      async (testApp) => {
        const session = pick(notEnded(testApp.model), number);
        hold(testApp, gate);
        await callTo(testApp, testApp.gates[gate], [session, slot, why], ARRIVES_WITHIN_MS);
        await loseLock(testApp, session);
        await Promise.race([call(testApp, session, 1 - slot, 'api'), delay(OUT_OF_SIGHT_MS)]);
      },
    ),
  );

/** What may happen to a testApp, in any order. */
export const COMMANDS = fc.commands<Model, TestApp, false>(
  [
    fc.oneof(
      { weight: 30, arbitrary: CALL },
      { weight: 16, arbitrary: CALL_TO_GATE },
      { weight: 14, arbitrary: RELEASE },
      { weight: 8, arbitrary: SIGN_OUT },
      { weight: 6, arbitrary: HOLD },
      { weight: 6, arbitrary: EXPIRE },
      { weight: 6, arbitrary: REVOKE_ACCESS },
      { weight: 6, arbitrary: ENTER },
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
