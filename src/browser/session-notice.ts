/** Warns that the session will end soon. The notice counts down on the screen, and screen readers read it twice. */
import { countDown, formatDuration } from './countdown.ts';
import { make } from './elements.ts';
import { hideNotice, showNotice } from './notices.ts';
import { signInUrl } from './sign-in.ts';

const NAME = 'session';
/** Time before the end at which screen readers read the notice again. */
const SECOND_READING_SECONDS = 30;

let stopCountdown: (() => void) | undefined;
let notice: HTMLElement | undefined;

/** Shows the notice that the session is about to end, with a countdown. Replaces an earlier notice. */
export function showExpiryNotice({
  endsAt,
  extend,
}: {
  /** In ms by this browser's clock. */ readonly endsAt: number;
  /** Restarts the idle timeout; null if the session can't be extended. */ readonly extend:
    (() => void) | null;
}) {
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

/** Hides the notice and stops its countdown. */
export function hideExpiryNotice() {
  stopCountdown?.();
  hideNotice(NAME);
  notice = undefined;
}

function createNotice(endsAt: number, extend: (() => void) | null) {
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

function partsOf(created: HTMLElement) {
  const spoken = created.querySelector('p');
  if (spoken === null) throw new Error('the notice has no text');
  return { spoken, timeLeft: created.querySelector('.time-left') ?? spoken };
}
