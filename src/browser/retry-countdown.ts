/** Counts down on an error page until the user may try again. The page does not retry automatically. */
import { countDown, formatDuration } from './countdown.ts';
import { make } from './elements.ts';

/** Disables *Try again* for the number of seconds in `data-retry-after`. */
export function startRetryCountdown() {
  const wait = document.querySelector('[data-retry-after]');
  const tryAgain = document.querySelector('.actions .button--primary[href]');
  const time = wait?.querySelector('time');
  const seconds = Number(wait?.getAttribute('data-retry-after'));
  if (!wait || !tryAgain || !time || !(seconds > 0)) return;

  const href = tryAgain.getAttribute('href') ?? '';
  tryAgain.removeAttribute('href');
  tryAgain.setAttribute('role', 'link');
  tryAgain.setAttribute('aria-disabled', 'true');
  tryAgain.classList.add('button--off');
  // A live region must be in the page before its text.
  const ready = make('p', { role: 'status' });
  wait.after(ready);

  countDown(Date.now() + seconds * 1_000, (left) => {
    time.textContent = formatDuration(left);
    if (left > 0) return;
    wait.remove();
    ready.textContent = 'You can try again now.';
    tryAgain.setAttribute('href', href);
    tryAgain.removeAttribute('role');
    tryAgain.removeAttribute('aria-disabled');
    tryAgain.classList.remove('button--off');
  });
}
