/** Loads the pages behind the one that is shown, so that all of a list can be filtered, read or printed at once. */
import { showLocalTimes } from './local-times.js';

/** A page stays one that a phone can show. */
const MOST_ITEMS = 5_000;
const MOST_PAUSES = 5;
const LONGEST_PAUSE_SECONDS = 60;

/** @typedef {{ readonly items: Element[], readonly next: string | null }} LoadedPage */

/** Where nothing helps but to look at the page itself: to sign in again, or to see what is wrong with it. */
class PageFailed extends Error {}

/**
 * Begins where the page has a list that goes on. `onMore` hears of every page that was added.
 * @param {() => void} onMore
 */
export function startLoadPages(onMore) {
  const place = document.querySelector('[data-load-pages]');
  const items = document.querySelector('[data-items]');
  const load = place?.querySelector('[data-load]');
  const stop = place?.querySelector('[data-stop]');
  const progress = place?.querySelector('[data-progress]');
  const outcome = place?.querySelector('[data-outcome]');
  let next = nextOf(document);
  if (!place || !items || !(load instanceof HTMLElement) || !(stop instanceof HTMLElement) || !next) return;
  if (!progress || !outcome) return;
  place.removeAttribute('hidden');

  /** @param {Iterable<Element>} more */
  const add = (more) => {
    for (const item of more) items.append(document.importNode(item, true));
    showLocalTimes(items);
    showPlace(items.children.length, next === null);
    onMore();
  };

  const run = async () => {
    const ending = new AbortController();
    const abort = () => ending.abort();
    stop.addEventListener('click', abort);
    setRunning(true);
    try {
      while (next !== null && items.children.length < MOST_ITEMS) {
        const page = await loadPage(next, ending.signal, (words) => (progress.textContent = words));
        next = page.next;
        add(page.items);
        progress.textContent = `${count(items.children.length)} items…`;
      }
      outcome.textContent =
        next === null
          ? `All loaded: ${count(items.children.length)} items.`
          : `These are as many as one page takes.`;
    } catch (error) {
      outcome.textContent = `${ending.signal.aborted ? 'Stopped' : toWords(error)} after ${count(items.children.length)} items.`;
    } finally {
      stop.removeEventListener('click', abort);
      setRunning(false);
    }
  };

  /** @param {boolean} isRunning */
  const setRunning = (isRunning) => {
    const hadFocus = document.activeElement === load || document.activeElement === stop;
    load.hidden = isRunning || next === null || items.children.length >= MOST_ITEMS;
    stop.hidden = !isRunning;
    if (isRunning) outcome.textContent = '';
    else progress.textContent = '';
    items.setAttribute('aria-busy', String(isRunning));
    if (hadFocus) (isRunning ? stop : load).focus();
  };

  load.addEventListener('click', () => void run());
}

/**
 * @param {string} address
 * @param {AbortSignal} signal
 * @param {(words: string) => void} onPause
 * @returns {Promise<LoadedPage>}
 */
async function loadPage(address, signal, onPause) {
  for (let pauses = 0; ; pauses += 1) {
    const answer = await fetch(address, { headers: { accept: 'text/html' }, redirect: 'manual', signal });
    const seconds = Number(answer.headers.get('retry-after') ?? NaN);
    if ((answer.status === 503 || answer.status === 429) && seconds >= 0 && pauses < MOST_PAUSES) {
      const pause = Math.min(Math.max(seconds, 1), LONGEST_PAUSE_SECONDS);
      onPause(`The service asks for a pause of ${pause} s…`);
      await passed(pause * 1_000, signal);
      continue;
    }
    if (!answer.ok) throw new PageFailed();
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    const next = nextOf(page);
    // A list that leads back to itself has no end.
    return { items: [...page.querySelectorAll('[data-items] > li')], next: next === address ? null : next };
  }
}

/** @param {Document} page */
function nextOf(page) {
  return page.querySelector('a[rel="next"]')?.getAttribute('href') ?? null;
}

/**
 * @param {number} shown
 * @param {boolean} isAll
 */
function showPlace(shown, isAll) {
  const place = document.querySelector('[data-place]');
  const first = Number(place?.getAttribute('data-first') ?? NaN);
  if (place && first > 0) place.textContent = `Items ${count(first)}–${count(first + shown - 1)}`;
  // They would lead to parts of what is shown.
  for (const part of document.querySelectorAll('[data-pages], [data-sizes]'))
    part.toggleAttribute('hidden', isAll);
}

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
function passed(ms, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        reject(new Error('stopped'));
      },
      { once: true },
    );
  });
}

/** @param {unknown} error */
function toWords(error) {
  return error instanceof PageFailed
    ? 'The next page could not be loaded. Loading ended'
    : 'The connection failed';
}

/** @param {number} number */
function count(number) {
  return number.toLocaleString('en');
}
