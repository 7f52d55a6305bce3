/** Checks the session of an open page and removes the content of the page once the session has ended. */
import { createAlarm } from './alarm.js';
import { hideNotice, showNotice } from './notices.js';
import { hideExpiryNotice, showExpiryNotice } from './session-notice.js';
import { coverContent, removeContent, uncoverContent } from './session-panel.js';
import { initialState, transition } from './session-state.js';
import { fetchSession } from './session-status.js';

/** @typedef {import('./session-state.js').Message} Message */

const CHANNEL = 'cloakroom-session';
const CONFIRMATION_MS = 5_000;

/** Watches the session if the page was loaded by a signed-in user. Otherwise, makes the other open tabs check their sessions. */
export function startSessionWatch() {
  const ownName = document.body.dataset['session'];
  if (ownName === undefined) {
    openSessionChannel(() => {}).post({ kind: 'check' });
    return;
  }
  const watch = createWatch(ownName);
  const check = () => void watch.check();
  document.querySelector('form[action="/auth/logout"]')?.addEventListener('submit', () => watch.signingOut());
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') check();
  });
  addEventListener('online', check);
  addEventListener('pageshow', ({ persisted }) => {
    if (persisted) watch.restored();
  });
  void watch.begin();
}

/**
 * Opens the channel between the tabs of this browser. A message proves nothing, so each tab checks its own session.
 * @param {(message: Message) => void} onMessage Called for messages from other tabs.
 * @returns {{ post: (message: Message) => void }}
 */
function openSessionChannel(onMessage) {
  if (!('BroadcastChannel' in globalThis)) return { post: () => {} };
  const channel = new BroadcastChannel(CHANNEL);
  channel.addEventListener('message', ({ data }) => onMessage(/** @type {Message} */ (data ?? {})));
  return {
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a channel reaches only its own origin
    post: (message) => channel.postMessage(message),
  };
}

/**
 * Applies the effects from session-state.js to the page.
 * @param {string} ownName
 */
function createWatch(ownName) {
  const alarm = createAlarm(() => void check());
  const channel = openSessionChannel((message) => dispatch({ type: 'message', message }));
  let state = initialState(ownName);
  let [lastSent, lastHandled] = [0, 0];
  /** @type {HTMLElement | null} The element that had the focus before the user moved to a notice. */
  let lastFocus = null;
  document.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLElement && target.closest('[data-notices]') === null) lastFocus = target;
  });

  /** @param {import('./session-state.js').SessionEvent} event */
  const dispatch = (event) => {
    const step = transition(state, event, Date.now());
    state = step.state;
    for (const effect of step.effects) carryOut(effect);
  };

  /** @param {import('./session-state.js').Effect} effect */
  const carryOut = (effect) => {
    if (effect.do === 'check') void check();
    else if (effect.do === 'checkAt') alarm.setTo(effect.at);
    else if (effect.do === 'cover') coverContent();
    else if (effect.do === 'uncover') uncoverContent();
    else if (effect.do === 'removeContent') removeContent(effect.panel);
    else if (effect.do === 'showNotice')
      showExpiryNotice({ endsAt: effect.endsAt, extend: effect.canExtend ? () => void extend() : null });
    else hideExpiryNotice();
  };

  /** @param {{ readonly extend?: boolean }} [options] */
  const check = async (options) => {
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
    async begin() {
      const session = await check();
      if (session?.signedIn) channel.post({ kind: 'used', name: session.name });
    },
  };
}
