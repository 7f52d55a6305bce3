/** Loads the pages behind the one that is shown, so that all of a list can be filtered, read or printed at once. */
import { counted, grouped } from './counts.js';
import { find } from './elements.js';
import { showLocalTimes } from './local-times.js';
import { firstOf, ListChanged, loadPage, nextOf, OtherSession, PageFailed } from './fetch-list-page.js';
import { putAwaySignal } from './content-removed.js';
import { goToSignIn, SignInNeeded } from './sign-in.js';

/** A page stays one that a phone can show. */
const MOST_ITEMS = 5_000;

/** @typedef {ReturnType<typeof createGrowingList>} GrowingList */
/** @typedef {ReturnType<typeof createControls>} Controls */

/**
 * Begins where the page has a list that goes on. `onMore` hears of the items that were added.
 * @param {(items: readonly Element[]) => void} onMore
 */
export function startLoadPages(onMore) {
  const place = document.querySelector('[data-load-pages]');
  const items = document.querySelector('[data-items]');
  if (!(place instanceof HTMLElement) || items === null) return;
  const list = createGrowingList(items, onMore);
  const controls = createControls(place, list);
  controls.onLoad(() => void run(list, controls));
  place.hidden = list.isFull();
}

/**
 * @param {Element} items
 * @param {(items: readonly Element[]) => void} onMore
 */
function createGrowingList(items, onMore) {
  const first = firstOf(document);
  let next = nextOf(document);
  const size = () => items.children.length;

  return {
    size,
    /** The page behind it, as far as is known; null where there is none. */
    following: () => (next === null ? null : { address: next, first: first + size() }),
    isFull: () => next === null || size() >= MOST_ITEMS,
    /** @param {import('./fetch-list-page.js').LoadedPage} page */
    add(page) {
      const more = page.items.map((item) => document.importNode(item, true));
      for (const item of more) showLocalTimes(item);
      items.append(...more);
      next = page.next;
      showPlace(first, size(), next);
      onMore(more);
    },
    /** @param {boolean} isBusy */
    setBusy(isBusy) {
      items.setAttribute('aria-busy', String(isBusy));
    },
  };
}

/**
 * The two buttons, of which one is there at a time, and what is said beside them.
 * @param {HTMLElement} place
 * @param {GrowingList} list
 */
function createControls(place, list) {
  const load = find(place, '[data-load]', HTMLButtonElement);
  const stop = find(place, '[data-stop]', HTMLButtonElement);
  const progress = find(place, '[data-progress]', HTMLElement);
  const outcome = find(place, '[data-outcome]', HTMLElement);
  outcome.tabIndex = -1; // has the focus where neither button is left to have it
  let onStop = () => {};
  stop.addEventListener('click', () => onStop());

  /** @param {boolean} isRunning */
  const setRunning = (isRunning) => {
    const hadFocus = document.activeElement === load || document.activeElement === stop;
    load.hidden = isRunning || list.isFull();
    stop.hidden = !isRunning;
    progress.textContent = '';
    list.setBusy(isRunning);
    const atRest = load.hidden ? outcome : load;
    if (hadFocus) (isRunning ? stop : atRest).focus();
  };

  return {
    /** @param {() => void} listener */
    onLoad: (listener) => load.addEventListener('click', listener),
    /** @param {() => void} abort Called when somebody stops it. */
    begin(abort) {
      onStop = abort;
      outcome.textContent = '';
      setRunning(true);
    },
    /** @param {string} words */
    say: (words) => (progress.textContent = words),
    /** @param {string} words */
    end(words) {
      outcome.textContent = words;
      setRunning(false);
    },
  };
}

/**
 * @param {GrowingList} list
 * @param {Controls} controls
 */
async function run(list, controls) {
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, putAwaySignal]);
  controls.begin(() => stopping.abort());
  try {
    for (let page = list.following(); page !== null && !list.isFull(); page = list.following()) {
      list.add(await loadPage(page, signal, controls.say));
      controls.say(`${counted(list.size(), 'item')}…`);
    }
    controls.end(
      list.following() === null
        ? `All loaded: ${counted(list.size(), 'item')}.`
        : 'These are as many as one page takes.',
    );
  } catch (error) {
    const why = signal.aborted ? 'Stopped' : toWords(error);
    controls.end(`${why} after ${counted(list.size(), 'item')}.`);
    if (error instanceof SignInNeeded) goToSignIn();
    if (error instanceof OtherSession) location.reload();
  }
}

/**
 * @param {number} first
 * @param {number} shown
 * @param {string | null} next
 */
function showPlace(first, shown, next) {
  const place = document.querySelector('[data-place]');
  if (place !== null) place.textContent = `Items ${grouped(first)}–${grouped(first + shown - 1)}`;
  // They would lead to parts of what is shown, but for what is behind it.
  for (const part of document.querySelectorAll('[data-pages], [data-past-items], [data-sizes]'))
    part.toggleAttribute('hidden', next === null || part.matches('[data-sizes]'));
  if (next !== null) document.querySelector('a[rel="next"]')?.setAttribute('href', next);
}

/** @param {unknown} error */
function toWords(error) {
  if (error instanceof SignInNeeded) return 'Your session has ended: loading ended';
  if (error instanceof OtherSession) return 'Somebody signed in again: loading ended';
  if (error instanceof ListChanged) return 'The list has changed: loading ended';
  if (error instanceof PageFailed) return `${error.message}. Loading ended`;
  return navigator.onLine ? 'The connection failed: loading ended' : 'You were offline: loading ended';
}
