/** Gets the page behind a list, patiently: it may have to be asked for more than once. */
import { SignInNeeded } from './sign-in.js';

const MOST_PAUSES = 5;
const LONGEST_PAUSE_SECONDS = 60;

/**
 * @typedef {object} LoadedPage
 * @property {Element[]} items
 * @property {string | null} next The address of the page behind it.
 */

/** The message is what the error page said, with its reference. */
export class PageFailed extends Error {}

/** What came does not go on where the list ends: with it there would be items twice, or some left out. */
export class ListChanged extends Error {}

/** Somebody else has signed in meanwhile: nothing of theirs belongs into this page. */
export class OtherSession extends Error {}

/** @param {ParentNode} page */
export function nextOf(page) {
  return page.querySelector('a[rel="next"]')?.getAttribute('href') ?? null;
}

/**
 * The number of a page's first item in the whole list.
 * @param {ParentNode} page
 */
export function firstOf(page) {
  return Number(page.querySelector('[data-first]')?.getAttribute('data-first') ?? NaN);
}

/**
 * The page at `address`, which begins with the item of the number `first`. Rejects with PageFailed, ListChanged,
 * OtherSession, SignInNeeded, the signal's reason, or a TypeError where there is no connection.
 * @param {object} wanted
 * @param {string} wanted.address
 * @param {number} wanted.first
 * @param {AbortSignal} signal
 * @param {(words: string) => void} onPause
 * @returns {Promise<LoadedPage>}
 */
export async function loadPage({ address, first }, signal, onPause) {
  for (let pauses = 0; ; pauses += 1) {
    const answer = await fetch(address, { headers: { accept: 'text/html' }, redirect: 'manual', signal });
    const mayWait = pauses < MOST_PAUSES;
    const seconds = mayWait ? pauseOf(answer) : NaN;
    if (seconds > 0) {
      onPause(`Cloakroom asks for a pause of ${seconds} s…`);
      await passed(seconds, signal);
      continue;
    }
    if (answer.type === 'opaqueredirect') throw new SignInNeeded();
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    if (!answer.ok) throw new PageFailed(toReason(page, answer));
    if (page.body.dataset['session'] !== document.body.dataset['session']) throw new OtherSession();
    const next = nextOf(page);
    if (firstOf(page) === first && next !== address)
      return { items: [...page.querySelectorAll('[data-items] > li')], next };
    // A page before the wanted one is as far as the server came this time; the next time it goes on from there.
    const isOnTheWay = firstOf(page) < first && next !== null;
    if (!isOnTheWay || !mayWait) throw new ListChanged();
    const untilNext = 2 ** pauses;
    onPause(`The next page can’t be reached. Trying again in ${untilNext} s…`);
    await passed(untilNext, signal);
  }
}

/**
 * @param {Document} page
 * @param {Response} answer
 */
function toReason(page, { status, headers }) {
  const title = page.querySelector('h1')?.textContent ?? `Error ${status}`;
  const requestId = headers.get('x-request-id');
  return requestId === null ? title : `${title} (reference: ${requestId})`;
}

/**
 * The seconds that an answer asks for; NaN where it asks for none.
 * @param {Response} answer
 */
function pauseOf({ status, headers }) {
  const seconds = Number(headers.get('retry-after') ?? NaN);
  if ((status !== 503 && status !== 429) || !(seconds >= 0)) return NaN;
  return Math.min(Math.max(seconds, 1), LONGEST_PAUSE_SECONDS);
}

/**
 * @param {number} seconds
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function passed(seconds, signal) {
  return new Promise((resolve, reject) => {
    const stop = () => {
      clearTimeout(timer);
      reject(new Error('stopped'));
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', stop);
      resolve();
    }, seconds * 1_000);
    signal.addEventListener('abort', stop, { once: true });
  });
}
