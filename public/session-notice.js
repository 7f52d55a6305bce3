/** Tells, in time, that the session is about to end: seen to count down, but heard only twice. */
import { countDown, inShort, inWords } from './countdown.js';
import { make } from './elements.js';
import { hideNotice, showNotice } from './notices.js';
import { signInAddress } from './sign-in.js';

const NAME = 'session';
const LAST_WORD_SECONDS = 30;

/** @type {(() => void) | undefined} */
let stop;
/** @type {HTMLElement | undefined} */
let notice;

/**
 * @param {object} ending
 * @param {number} ending.endsAt In ms by this browser's clock.
 * @param {(() => void) | null} ending.stay Begins the idle time anew; null where the session can't last longer.
 */
export function showEnding({ endsAt, stay }) {
  const kind = stay === null ? 'last' : 'idle';
  stop?.();
  if (notice?.dataset['kind'] !== kind || !notice.isConnected) notice = create(endsAt, stay);
  notice.dataset['kind'] = kind;
  const { heard, seen } = partsOf(notice);
  let hasSaidLast = (endsAt - Date.now()) / 1_000 <= LAST_WORD_SECONDS * 1.5;
  stop = countDown(endsAt, (seconds) => {
    seen.textContent = inShort(seconds);
    if (hasSaidLast || seconds > LAST_WORD_SECONDS) return;
    hasSaidLast = true;
    heard.textContent = `You will be signed out in ${inWords(seconds)}.`;
  });
}

export function hideEnding() {
  stop?.();
  hideNotice(NAME);
  notice = undefined;
}

/**
 * @param {number} endsAt
 * @param {(() => void) | null} stay
 */
function create(endsAt, stay) {
  const why = stay === null ? 'as each sign-in lasts only so long' : 'as nothing was done here for a while';
  const seconds = Math.max(0, Math.ceil((endsAt - Date.now()) / 1_000));
  const made = showNotice(NAME, `You will be signed out in ${inWords(seconds)}, ${why}.`, [
    stay === null
      ? { label: 'Sign in again now', href: signInAddress() }
      : { label: 'Stay signed in', press: stay },
  ]);
  // What is heard stays as it is while what is seen counts down: nobody is read a number each second.
  const left = make('span', { class: 'time-left' });
  const seen = make('p', { 'aria-hidden': 'true' }, ['You will be signed out in ', left, `, ${why}.`]);
  const { heard } = partsOf(made);
  heard.className = 'visually-hidden';
  heard.after(seen);
  return made;
}

/** @param {HTMLElement} made */
function partsOf(made) {
  const heard = made.querySelector('p');
  const seen = made.querySelector('.time-left');
  if (heard === null) throw new Error('a notice has words');
  return { heard, seen: seen ?? heard };
}
