/** Watches the session of a page while it is open. It asks, and never guesses: where no answer comes, nothing changes. */
import { createAlarm } from './alarm.js';
import { hideNotice, showNotice } from './notices.js';
import { openSessionChannel } from './session-channel.js';
import { hideEnding, showEnding } from './session-notice.js';
import { concealContent, putContentAway, revealContent } from './session-panel.js';
import { atFirst, next } from './session-state.js';
import { askSession } from './session-status.js';

const SAYS_SO_MS = 5_000;

/** Watches the session of a page that is a signed-in person's own; any other page tells those pages that it is there. */
export function startSessionWatch() {
  const own = document.body.dataset['session'];
  if (own === undefined) {
    openSessionChannel(() => {}).tell({ kind: 'look' });
    return;
  }
  const watch = createWatch(own);
  const ask = () => void watch.ask();
  document.querySelector('form[action="/auth/logout"]')?.addEventListener('submit', watch.signingOut);
  document.addEventListener('visibilitychange', () => {
    if (document.visibilityState === 'visible') ask();
  });
  addEventListener('online', ask);
  addEventListener('pageshow', ({ persisted }) => {
    if (!persisted) return;
    concealContent(); // brought back from before: much may have happened since
    ask();
  });
  void watch.begin();
}

/**
 * The states of session-state.js, in a page: it does what they say.
 * @param {string} own
 */
function createWatch(own) {
  const alarm = createAlarm(() => void ask());
  const channel = openSessionChannel((message) => happen({ type: 'heard', message }));
  let state = atFirst(own);
  let [asked, answered] = [0, 0];
  /** @type {HTMLElement | null} Where the person was before they came to a notice. */
  let lastPlace = null;
  document.addEventListener('focusin', ({ target }) => {
    if (target instanceof HTMLElement && target.closest('[data-notices]') === null) lastPlace = target;
  });

  /** @param {import('./session-state.js').SessionEvent} event */
  const happen = (event) => {
    const step = next(state, event, Date.now());
    state = step.state;
    for (const effect of step.effects) carryOut(effect);
  };

  /** @param {import('./session-state.js').Effect} effect */
  const carryOut = (effect) => {
    if (effect.do === 'ask') void ask();
    else if (effect.do === 'ring') alarm.setTo(effect.at);
    else if (effect.do === 'conceal') concealContent();
    else if (effect.do === 'reveal') revealContent();
    else if (effect.do === 'putAway') putContentAway(effect.panel);
    else if (effect.do === 'showEnding')
      showEnding({ endsAt: effect.endsAt, stay: effect.mayStay ? () => void stay() : null });
    else hideEnding();
  };

  /** @param {{ readonly extend?: boolean }} [how] */
  const ask = async (how) => {
    alarm.clear();
    happen({ type: 'ask' });
    const number = ++asked;
    const answer = await askSession(how);
    if (number > answered) happen({ type: 'answer', answer }); // one that was overtaken is old
    answered = Math.max(number, answered);
    return answer;
  };

  const stay = async () => {
    const answer = await ask({ extend: true });
    if (answer === null) showNotice('stay', 'Cloakroom did not answer. Press the button again in a moment.');
    if (!answer?.signedIn) return;
    channel.tell({ kind: 'alive', name: answer.name });
    const place = lastPlace?.isConnected ? lastPlace : document.querySelector('main');
    place?.focus({ preventScroll: true });
    showNotice('stay', 'You are still signed in.');
    setTimeout(() => hideNotice('stay'), SAYS_SO_MS);
  };

  return {
    ask,
    signingOut: () => {
      happen({ type: 'signing-out' });
      channel.tell({ kind: 'signing-out' });
    },
    begin: async () => {
      const answer = await ask();
      if (answer?.signedIn) channel.tell({ kind: 'alive', name: answer.name });
    },
  };
}
