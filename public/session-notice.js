/** Warns that the session will end soon. The notice counts down on the screen, and screen readers read it twice. */
import { countDown, formatDuration } from './countdown.js';
import { make } from './elements.js';
import { hideNotice, showNotice } from './notices.js';
import { signInUrl } from './sign-in.js';

const NAME = 'session';
/** Time before the end at which screen readers read the notice again. */
const SECOND_READING_SECONDS = 30;

/** @type {(() => void) | undefined} */
let stopCountdown;
/** @type {HTMLElement | undefined} */
let notice;

/**
 * @param {object} expiry
 * @param {number} expiry.endsAt In ms by this browser's clock.
 * @param {(() => void) | null} expiry.extend Restarts the idle timeout; null if the session can't be extended.
 */
export function showExpiryNotice({ endsAt, extend }) {
  const kind = extend === null ? 'last' : 'idle';
  stopCountdown?.();
  if (notice?.dataset['kind'] !== kind || !notice.isConnected) notice = createNotice(endsAt, extend);
  notice.dataset['kind'] = kind;
  const { spoken, timeLeft } = partsOf(notice);
  let isReadTwice = (endsAt - Date.now()) / 1_000 <= SECOND_READING_SECONDS * 1.5;
  stopCountdown = countDown(endsAt, (seconds) => {
    timeLeft.textContent = formatDuration(seconds);
    if (isReadTwice || seconds > SECOND_READING_SECONDS) return;
    isReadTwice = true;
    spoken.textContent = `You will be signed out in ${formatDuration(seconds)}.`;
  });
}

export function hideExpiryNotice() {
  stopCountdown?.();
  hideNotice(NAME);
  notice = undefined;
}

/**
 * @param {number} endsAt
 * @param {(() => void) | null} extend
 */
function createNotice(endsAt, extend) {
  const why = extend === null ? 'because each sign-in has a time limit' : 'because you’ve been inactive';
  const seconds = Math.max(0, Math.ceil((endsAt - Date.now()) / 1_000));
  const created = showNotice(NAME, `You will be signed out in ${formatDuration(seconds)} ${why}.`, [
    extend === null
      ? { label: 'Sign in again now', href: signInUrl() }
      : { label: 'Stay signed in', press: extend },
  ]);
  // Hide the countdown from screen readers, which would read out every change.
  const left = make('span', { class: 'time-left' });
  const shown = make('p', { 'aria-hidden': 'true' }, ['You will be signed out in ', left, ` ${why}.`]);
  const { spoken } = partsOf(created);
  spoken.className = 'visually-hidden';
  spoken.after(shown);
  return created;
}

/** @param {HTMLElement} created */
function partsOf(created) {
  const spoken = created.querySelector('p');
  if (spoken === null) throw new Error('the notice has no text');
  return { spoken, timeLeft: created.querySelector('.time-left') ?? spoken };
}
