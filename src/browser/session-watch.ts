/** Checks the session of an open page and removes the content of the page once the session has ended. */
import { createAlarm } from './alarm.ts';
import { hideNotice, showNotice } from './notices.ts';
import { hideExpiryNotice, showExpiryNotice } from './session-notice.ts';
import { coverContent, removeContent, uncoverContent } from './session-panel.ts';
import { initialState, transition, type SessionEvent, type Effect, type Message } from './session-state.ts';
import { fetchSession } from './session-status.ts';

const CHANNEL = 'cloakroom-session';
const SIGN_OUT = 'form[action="/auth/logout"]';
const CONFIRMATION_MS = 5_000;

/** Watches the session if the page was loaded by a signed-in user. Otherwise, makes the other open tabs check their sessions. */
export function startSessionWatch() {
  const ownName = document.body.dataset['session'];
  if (ownName === undefined) {
    const { post } = openSessionChannel(() => {});
    post({ kind: 'check' });
    whenSignedOut(() => post({ kind: 'check' }));
    return;
  }
  const watch = createWatch(ownName);
  const check = () => void watch.check();
  document.querySelector(SIGN_OUT)?.addEventListener('submit', () => watch.signingOut());
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') check();
  });
  addEventListener('online', check);
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) watch.restored();
  });
  whenSignedOut(watch.signedOut);
  void watch.begin();
}

/** Calls `listener` once the server has responded to *Sign out* and another page replaces this one. The landing page has no scripts. */
function whenSignedOut(listener: () => void) {
  document.querySelector(SIGN_OUT)?.addEventListener('submit', () => {
    addEventListener('pagehide', listener, { once: true });
  });
}

/**
 * Opens the channel between the tabs of this browser. A message proves nothing, so each tab checks its own session.
 * @param onMessage Called for messages from other tabs.
 */
function openSessionChannel(onMessage: (message: Message) => void): { post: (message: Message) => void } {
  if (!('BroadcastChannel' in globalThis)) return { post: () => {} };
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener('message', ({ data }) => onMessage((data ?? {}) as Message));
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel reaches only its own origin
    post: (message) => channel.postMessage(message),
  };
}

/** Applies the effects from session-state.ts to the page. */
function createWatch(ownName: string) {
  const alarm = createAlarm(() => void check());
  const channel = openSessionChannel((message) => dispatch({ type: 'message', message }));
  let state = initialState(ownName);
  let [lastSent, lastHandled] = [0, 0];
  /** The element that had the focus before the user moved to a notice. */
  let lastFocus: HTMLElement | null = null;
  document.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLElement && target.closest('[data-notices]') === null) lastFocus = target;
  });

  const dispatch = (event: SessionEvent) => {
    const step = transition(state, event, Date.now());
    state = step.state;
    for (const effect of step.effects) carryOut(effect);
  };

  const carryOut = (effect: Effect) => {
    if (effect.do === 'check') void check();
    else if (effect.do === 'checkAt') alarm.setTo(effect.at);
    else if (effect.do === 'cover') coverContent();
    else if (effect.do === 'uncover') uncoverContent();
    else if (effect.do === 'removeContent') removeContent(effect.panel);
    else if (effect.do === 'showNotice')
      showExpiryNotice({ endsAt: effect.endsAt, extend: effect.canExtend ? () => void extend() : null });
    else hideExpiryNotice();
  };

  const check = async (options?: { readonly extend?: boolean }) => {
    alarm.clear();
    dispatch({ type: 'check' });
    const number = ++lastSent;
    const session = await fetchSession(options);
    if (number > lastHandled) dispatch({ type: 'response', session }); // ignore a response that a newer one has overtaken
    lastHandled = Math.max(number, lastHandled);
    return session;
  };

  const extend = async () => {
    const session = await check({ extend: true });
    if (session === null)
      showNotice('stay', 'Cloakroom did not respond. Wait a moment, then select “Stay signed in” again.');
    if (!session?.signedIn) return;
    channel.post({ kind: 'used', name: session.name });
    const place = lastFocus?.isConnected ? lastFocus : document.querySelector('main');
    place?.focus({ preventScroll: true });
    showNotice('stay', 'You are still signed in.');
    setTimeout(() => hideNotice('stay'), CONFIRMATION_MS);
  };

  return {
    check,
    /** Call this after the browser restores the page from its back/forward cache. Ignores responses to earlier requests. */
    restored() {
      lastHandled = lastSent;
      coverContent();
      void check();
    },
    signingOut() {
      dispatch({ type: 'signing-out' });
      channel.post({ kind: 'signing-out' });
    },
    signedOut: () => channel.post({ kind: 'check' }),
    async begin() {
      const session = await check();
      if (session?.signedIn) channel.post({ kind: 'used', name: session.name });
    },
  };
}
