/** Watches the session of a page while it is open. It asks, and never guesses: where no answer comes, nothing changes. */
import { createAlarm } from './alarm.js';
import { hideNotice, showNotice } from './notices.js';
import { openSessionChannel } from './session-channel.js';
import { hideEnding, showEnding } from './session-notice.js';
import { concealContent, replaceContent, revealContent } from './session-panel.js';
import { askSession } from './session-status.js';

/** @typedef {import('./living-session.js').LivingSession} LivingSession */

/** The notice comes this long before the end, or in the last third of the idle time where that is shorter. */
const NOTICE_MS = 120_000;
const AGAIN_MS = { first: 5_000, longest: 60_000 };
const AFTER_THE_END_MS = 1_000;
/** Whose session ends this soon after they pressed Sign out has signed out. */
const SIGN_OUT_MS = 60_000;
const SAYS_SO_MS = 5_000;

/** Watches the session of a page that is a signed-in person's own; any other page tells those pages that it is there. */
export function startSessionWatch() {
  if (!('signedIn' in document.body.dataset)) {
    openSessionChannel(() => {}).tell({ kind: 'look' });
    return;
  }
  const watch = createWatch();
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

function createWatch() {
  const alarm = createAlarm(() => void ask());
  const ending = createEnding();
  /** The session that the page is from, by its name. */
  let own = '';
  /** @type {LivingSession | null} What was last heard of it. */
  let known = null;
  let idleMs = 0;
  let failures = 0;
  let [asked, answered] = [0, 0];

  /** @param {{ readonly extend?: boolean }} [how] */
  const ask = async (how) => {
    alarm.clear();
    // By all that is known it is over: who is here now should not read on while we ask.
    if (known !== null && Date.now() >= endOf(known)) concealContent();
    const number = ++asked;
    const answer = await askSession(how);
    if (number > answered) conclude(answer);
    answered = Math.max(number, answered);
    return answer;
  };

  /** @param {Awaited<ReturnType<typeof askSession>>} answer */
  const conclude = (answer) => {
    if (answer === null) {
      alarm.setTo(Date.now() + Math.min(AGAIN_MS.first * 2 ** failures, AGAIN_MS.longest));
      failures += 1;
      return;
    }
    failures = 0;
    if (answer.signedIn && (own === '' || own === answer.name)) goOn(answer);
    else leave(answer.signedIn);
  };

  /** @param {boolean} isSignedIn To another session: by its name nobody can tell whose. */
  const leave = (isSignedIn) => {
    known = null;
    own ||= 'over'; // whichever session comes now is another
    hideEnding();
    if (isSignedIn) replaceContent('anotherSession');
    else ending.show();
  };

  /** @param {LivingSession} session */
  const goOn = (session) => {
    own = session.name;
    known = session;
    revealContent();
    idleMs = Math.max(idleMs, session.idleEndsAt - Date.now());
    const endsAt = endOf(session);
    const noticeAt = endsAt - Math.min(NOTICE_MS, idleMs / 3);
    if (Date.now() < noticeAt) {
      hideEnding();
      alarm.setTo(noticeAt);
      return;
    }
    showEnding({ endsAt, stay: session.idleEndsAt < session.lastsUntil ? () => void stay() : null });
    alarm.setTo(endsAt + AFTER_THE_END_MS);
  };

  const stay = async () => {
    const answer = await ask({ extend: true });
    if (answer === null) showNotice('stay', 'Cloakroom did not answer. Press the button again in a moment.');
    if (!answer?.signedIn) return;
    channel.tell({ kind: 'alive', name: answer.name });
    document.querySelector('main')?.focus({ preventScroll: true });
    showNotice('stay', 'You are still signed in.');
    setTimeout(() => hideNotice('stay'), SAYS_SO_MS);
  };

  const channel = openSessionChannel((message) => {
    // Other tabs were at work before this one had its first answer: which session the page is from is past asking.
    if (own === '' && failures > 0) own = 'unknown';
    // Use in another tab concerns this one where it is about to end, or is from another session.
    if (message.kind === 'alive' && message.name === own && !alarm.isDueWithin(NOTICE_MS)) return;
    if (message.kind === 'signing-out') ending.signingOut('signedOutElsewhere');
    else void ask();
  });

  return {
    ask,
    signingOut: () => {
      ending.signingOut('signedOut');
      channel.tell({ kind: 'signing-out' });
    },
    begin: async () => {
      const answer = await ask();
      if (answer?.signedIn) channel.tell({ kind: 'alive', name: answer.name });
    },
  };
}

/** @param {LivingSession} session */
const endOf = (session) => Math.min(session.idleEndsAt, session.lastsUntil);

/** Why nobody is signed in any more: once said, it stays said. */
function createEnding() {
  /** @type {'signedOut' | 'signedOutElsewhere'} */
  let by = 'signedOut';
  let at = -Infinity;
  /** @type {import('./session-panel.js').PanelName | undefined} */
  let said;

  return {
    /** @param {typeof by} who Somebody pressed Sign out; whether it is done is yet to be asked. */
    signingOut: (who) => ([by, at] = [who, Date.now()]),
    show: () => {
      said ??= Date.now() - at < SIGN_OUT_MS ? by : 'ended';
      replaceContent(said);
    },
  };
}
