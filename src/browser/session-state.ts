/** Computes the state of a page's session, as a pure function of events and time. */
import type { ActiveSession, SessionStatus } from './session-body.ts';

type SignOut = 'signedOut' | 'signedOutElsewhere';

/** A message between tabs. `signing-out`: the user pressed *Sign out*. `check`: the session may have ended. `used`: a tab used the session with this name. */
export type Message =
  | { readonly kind: 'signing-out' }
  | { readonly kind: 'check' }
  | { readonly kind: 'used'; readonly name: string };

/** `unknown`: no response has arrived yet. `expiring`: the session is active but will end soon. `ended`: the content of the page has been removed permanently. */
export interface State {
  readonly name: 'unknown' | 'active' | 'expiring' | 'ended';
  /** The name of the page's session, which the server wrote into the page. */
  readonly ownName: string;
  /** The session in the last response; null if that session was not active. */
  readonly session: ActiveSession | null;
  /** The longest idle time seen, in ms. */
  readonly idleMs: number;
  /** When the page next checks the session, in ms by this browser's clock. */
  readonly checkAt: number;
  /** Number of consecutive checks without a response. */
  readonly failures: number;
  /** The last press of *Sign out* in any tab. The sign-out may still fail. */
  readonly signOut: { readonly by: SignOut; readonly at: number } | null;
  /** Why the user is signed out. Once set, it never changes. */
  readonly reason: SignOut | 'ended' | null;
}

export type SessionEvent =
  | { readonly type: 'check' }
  | { readonly type: 'signing-out' }
  | { readonly type: 'message'; readonly message: Message }
  | { readonly type: 'response'; readonly session: SessionStatus | null };

export type Effect =
  | { readonly do: 'check' | 'cover' | 'uncover' | 'hideNotice' }
  | { readonly do: 'checkAt'; readonly at: number }
  | { readonly do: 'showNotice'; readonly endsAt: number; readonly canExtend: boolean }
  | { readonly do: 'removeContent'; readonly panel: SignOut | 'ended' | 'anotherSession' };

export interface Step {
  readonly state: State;
  readonly effects: readonly Effect[];
}

/** How long before the end of the session the notice appears, in ms; at most a third of the idle time. */
const NOTICE_MS = 120_000;
const RETRY_MS = { first: 5_000, longest: 60_000 };
const CHECK_AFTER_END_MS = 1_000;
/** If the session ends within this time after the user pressed *Sign out*, the sign-out must have ended it. */
const SIGN_OUT_MS = 60_000;

/** @param ownName The name of the page's session. */
export function initialState(ownName: string): State {
  return {
    name: 'unknown',
    ownName,
    session: null,
    idleMs: 0,
    checkAt: Infinity,
    failures: 0,
    signOut: null,
    reason: null,
  };
}

/** @param now In ms by this browser's clock. */
export function transition(state: State, event: SessionEvent, now: number): Step {
  if (event.type === 'check') return onCheck(state, now);
  if (event.type === 'message') return onMessage(state, event.message, now);
  if (event.type === 'signing-out')
    return withoutEffects({ ...state, signOut: { by: 'signedOut', at: now } });
  const { session } = event;
  if (session === null) return onNoResponse(state, now);
  const known = { ...state, failures: 0 };
  if (!session.signedIn) return onSignedOut(known, now);
  const isOwn = state.name !== 'ended' && session.name === state.ownName;
  return isOwn ? onActive(known, session, now) : onAnotherSession(known);
}

/** Covers the content during a check if the session must have ended by now. */
function onCheck(state: State, now: number): Step {
  const isPast = state.session !== null && now >= endOf(state.session);
  return { state: { ...state, checkAt: Infinity }, effects: isPast ? [{ do: 'cover' }] : [] };
}

/** Handles a message from another tab. Starts a check, or records that a sign-out has begun in the other tab. Never ends the session. */
function onMessage(state: State, message: Message, now: number): Step {
  if (message.kind === 'signing-out')
    return withoutEffects({ ...state, signOut: { by: 'signedOutElsewhere', at: now } });
  const isOwn = message.kind === 'used' && message.name === state.ownName;
  const isSoon = state.name === 'unknown' || state.checkAt - now <= NOTICE_MS;
  return isOwn && !isSoon ? withoutEffects(state) : { state, effects: [{ do: 'check' }] };
}

/** Delays the next check without changing anything else. */
function onNoResponse(state: State, now: number): Step {
  const at = now + Math.min(RETRY_MS.first * 2 ** state.failures, RETRY_MS.longest);
  return { state: { ...state, failures: state.failures + 1, checkAt: at }, effects: [{ do: 'checkAt', at }] };
}

function onActive(state: State, session: ActiveSession, now: number): Step {
  const idleMs = Math.max(state.idleMs, session.idleEndsAt - now);
  const endsAt = endOf(session);
  const noticeAt = endsAt - Math.min(NOTICE_MS, idleMs / 3);
  const known = { ...state, session, idleMs };
  if (now < noticeAt) {
    return {
      state: { ...known, name: 'active', checkAt: noticeAt },
      effects: [{ do: 'uncover' }, { do: 'hideNotice' }, { do: 'checkAt', at: noticeAt }],
    };
  }
  const at = endsAt + CHECK_AFTER_END_MS;
  const expiring = { ...known, name: 'expiring', checkAt: at } as const;
  // The response was sent before the session ended, so it does not show the current state.
  if (now >= endsAt) return { state: expiring, effects: [{ do: 'cover' }, { do: 'checkAt', at }] };
  const canExtend = session.idleEndsAt < session.lastsUntil;
  return {
    state: expiring,
    effects: [{ do: 'uncover' }, { do: 'showNotice', endsAt, canExtend }, { do: 'checkAt', at }],
  };
}

function onSignedOut(state: State, now: number): Step {
  const { signOut } = state;
  const isByUser = signOut !== null && now - signOut.at < SIGN_OUT_MS;
  const reason = state.reason ?? (isByUser ? signOut.by : 'ended');
  return {
    state: { ...state, name: 'ended', session: null, reason },
    effects: [{ do: 'hideNotice' }, { do: 'removeContent', panel: reason }],
  };
}

/** Handles a response about a different session. The name of a session does not reveal its user. */
function onAnotherSession(state: State): Step {
  return {
    state: { ...state, name: 'ended', session: null },
    effects: [{ do: 'hideNotice' }, { do: 'removeContent', panel: 'anotherSession' }],
  };
}

const withoutEffects = (state: State): Step => ({ state, effects: [] });

const endOf = (session: ActiveSession) => Math.min(session.idleEndsAt, session.lastsUntil);
