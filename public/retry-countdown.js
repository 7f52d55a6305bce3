/** Counts down on an error page until it may be tried again. The person presses: nothing is asked by itself. */
import { countDown, inShort } from './countdown.js';
import { make } from './elements.js';

/** Holds back *Try again* for the seconds that the page says. */
export function startRetryCountdown() {
  const wait = document.querySelector('[data-retry-after]');
  const again = document.querySelector('.actions .button--primary[href]');
  const time = wait?.querySelector('time');
  const seconds = Number(wait?.getAttribute('data-retry-after'));
  if (!wait || !again || !time || !(seconds > 0)) return;

  const address = again.getAttribute('href') ?? '';
  again.removeAttribute('href');
  again.setAttribute('role', 'link');
  again.setAttribute('aria-disabled', 'true');
  again.classList.add('button--off');
  // In place before it has anything to say, or it would not be heard.
  const ready = make('p', { role: 'status' });
  wait.after(ready);

  countDown(Date.now() + seconds * 1_000, (left) => {
    time.textContent = inShort(left);
    if (left > 0) return;
    wait.remove();
    ready.textContent = 'You can try again now.';
    again.setAttribute('href', address);
    again.removeAttribute('role');
    again.removeAttribute('aria-disabled');
    again.classList.remove('button--off');
  });
}
