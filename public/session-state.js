/** What a page knows of its session, and what follows from each thing that it hears: no clock, no page, no network. */

/** @typedef {import('./living-session.js').LivingSession} LivingSession */
/** @typedef {'signedOut' | 'signedOutElsewhere'} SignOut */

/**
 * What tabs tell each other. `signing-out`: a person pressed Sign out. `look`: the session may be over. `alive`: the
 * session of this name was used.
 * @typedef {{ readonly kind: 'signing-out' } | { readonly kind: 'look' }
 *   | { readonly kind: 'alive', readonly name: string }} Message
 */

/**
 * `asking`: nothing is known yet but whose page it is. `living`: its session lives. `ending`: it lives, and is about to end. `over`: what the page showed is
 * put away, for good.
 * @typedef {object} State
 * @property {'asking' | 'living' | 'ending' | 'over'} name
 * @property {string} own The name of the page's session: the server has written it into the page.
 * @property {LivingSession | null} session As last heard, while it lives.
 * @property {number} idleMs The longest idle time seen, in ms.
 * @property {number} ringsAt When it is asked again, in ms by this browser's clock.
 * @property {number} failures Of asking, in a row.
 * @property {{ readonly by: SignOut, readonly at: number } | null} signOut Somebody pressed Sign out; whether it is done is yet to be asked.
 * @property {SignOut | 'ended' | null} why Nobody is signed in any more: once said, it stays said.
 */

/**
 * @typedef {{ readonly type: 'ask' } | { readonly type: 'signing-out' }
 *   | { readonly type: 'heard', readonly message: Message }
 *   | { readonly type: 'answer', readonly answer: LivingSession | { readonly signedIn: false } | null }} SessionEvent
 */

/**
 * @typedef {{ readonly do: 'ask' | 'conceal' | 'reveal' | 'hideEnding' } | { readonly do: 'ring', readonly at: number }
 *   | { readonly do: 'showEnding', readonly endsAt: number, readonly mayStay: boolean }
 *   | { readonly do: 'putAway', readonly panel: SignOut | 'ended' | 'anotherSession' }} Effect
 */

/** @typedef {{ readonly state: State, readonly effects: readonly Effect[] }} Step */

/** The notice comes this long before the end, or in the last third of the idle time where that is shorter. */
const NOTICE_MS = 120_000;
const AGAIN_MS = { first: 5_000, longest: 60_000 };
const AFTER_THE_END_MS = 1_000;
/** Whose session ends this soon after they pressed Sign out has signed out. */
const SIGN_OUT_MS = 60_000;

/**
 * @param {string} own The name of the page's session.
 * @returns {State}
 */
export function atFirst(own) {
  return {
    name: 'asking',
    own,
    session: null,
    idleMs: 0,
    ringsAt: Infinity,
    failures: 0,
    signOut: null,
    why: null,
  };
}

/**
 * @param {State} state
 * @param {SessionEvent} event
 * @param {number} now In ms by this browser's clock.
 * @returns {Step}
 */
export function next(state, event, now) {
  if (event.type === 'ask') return onAsk(state, now);
  if (event.type === 'heard') return onMessage(state, event.message, now);
  if (event.type === 'signing-out') return still({ ...state, signOut: { by: 'signedOut', at: now } });
  const { answer } = event;
  if (answer === null) return onNoAnswer(state, now);
  const heard = { ...state, failures: 0 };
  if (!answer.signedIn) return onSignedOut(heard, now);
  const isOurs = state.name !== 'over' && answer.name === state.own;
  return isOurs ? onLiving(heard, answer, now) : onAnother(heard);
}

/**
 * @param {State} state
 * @param {number} now
 * @returns {Step}
 */
function onAsk(state, now) {
  // By all that is known it is over: who is here now should not read on while we ask.
  const isPast = state.session !== null && now >= endOf(state.session);
  return { state: { ...state, ringsAt: Infinity }, effects: isPast ? [{ do: 'conceal' }] : [] };
}

/**
 * From another tab. None is believed: each asks for itself.
 * @param {State} state
 * @param {Message} message
 * @param {number} now
 * @returns {Step}
 */
function onMessage(state, message, now) {
  if (message.kind === 'signing-out')
    return still({ ...state, signOut: { by: 'signedOutElsewhere', at: now } });
  // Use in another tab concerns this one where it is about to end, or is from another session.
  const isOurs = message.kind === 'alive' && message.name === state.own;
  if (isOurs && state.name !== 'asking' && state.ringsAt - now > NOTICE_MS) return still(state);
  return { state, effects: [{ do: 'ask' }] };
}

/**
 * @param {State} state
 * @param {number} now
 * @returns {Step} Nothing changes but when it is asked again.
 */
function onNoAnswer(state, now) {
  const at = now + Math.min(AGAIN_MS.first * 2 ** state.failures, AGAIN_MS.longest);
  return { state: { ...state, failures: state.failures + 1, ringsAt: at }, effects: [{ do: 'ring', at }] };
}

/**
 * @param {State} state
 * @param {LivingSession} session
 * @param {number} now
 * @returns {Step}
 */
function onLiving(state, session, now) {
  const idleMs = Math.max(state.idleMs, session.idleEndsAt - now);
  const endsAt = endOf(session);
  const noticeAt = endsAt - Math.min(NOTICE_MS, idleMs / 3);
  const known = { ...state, session, idleMs };
  if (now < noticeAt) {
    return {
      state: { ...known, name: 'living', ringsAt: noticeAt },
      effects: [{ do: 'reveal' }, { do: 'hideEnding' }, { do: 'ring', at: noticeAt }],
    };
  }
  const at = endsAt + AFTER_THE_END_MS;
  const mayStay = session.idleEndsAt < session.lastsUntil;
  return {
    state: { ...known, name: 'ending', ringsAt: at },
    effects: [{ do: 'reveal' }, { do: 'showEnding', endsAt, mayStay }, { do: 'ring', at }],
  };
}

/**
 * @param {State} state
 * @param {number} now
 * @returns {Step}
 */
function onSignedOut(state, now) {
  const { signOut } = state;
  const isBySomebody = signOut !== null && now - signOut.at < SIGN_OUT_MS;
  const why = state.why ?? (isBySomebody ? signOut.by : 'ended');
  return {
    state: { ...state, name: 'over', session: null, why },
    effects: [{ do: 'hideEnding' }, { do: 'putAway', panel: why }],
  };
}

/**
 * Somebody is signed in, but to another session: by its name nobody can tell who.
 * @param {State} state
 * @returns {Step}
 */
function onAnother(state) {
  return {
    state: { ...state, name: 'over', session: null },
    effects: [{ do: 'hideEnding' }, { do: 'putAway', panel: 'anotherSession' }],
  };
}

/**
 * @param {State} state
 * @returns {Step}
 */
const still = (state) => ({ state, effects: [] });

/** @param {LivingSession} session */
const endOf = (session) => Math.min(session.idleEndsAt, session.lastsUntil);
