/** Loads the remaining pages of a list into the page, to filter, read or print them at once. */
import { contentRemovedSignal } from './content-removed.js';
import { formatCount, formatNumber } from './counts.js';
import { find } from './elements.js';
import { fetchListPage, firstOf, ListChanged, nextOf, OtherSession, PageFailed } from './fetch-list-page.js';
import { showLocalTimes } from './local-times.js';
import { goToSignIn, SignInRequired } from './sign-in.js';

/** Most items on one page, as many as a phone can show. */
const MAX_ITEMS = 5_000;

/** @typedef {ReturnType<typeof createGrowingList>} GrowingList */
/** @typedef {ReturnType<typeof createControls>} Controls */

/**
 * Shows *Load all pages* on a page whose list has a next page.
 * @param {(items: readonly Element[]) => void} onAdded
 */
export function startLoadAllPages(onAdded) {
  const place = document.querySelector('[data-load-pages]');
  const items = document.querySelector('[data-items]');
  if (!(place instanceof HTMLElement) || items === null) return;
  const list = createGrowingList(items, onAdded);
  const controls = createControls(place, list);
  controls.onLoad(() => void loadAll(list, controls));
  place.hidden = list.isFull();
}

/**
 * @param {GrowingList} list
 * @param {Controls} controls
 */
async function loadAll(list, controls) {
  const stopping = new AbortController();
  const signal = AbortSignal.any([stopping.signal, contentRemovedSignal]);
  controls.begin(() => stopping.abort());
  try {
    for (let page = list.nextPage(); page !== null && !list.isFull(); page = list.nextPage()) {
      list.add(await fetchListPage(page, signal, controls.showProgress));
      controls.showProgress(`${formatCount(list.size(), 'item')}…`);
    }
    controls.end(
      list.nextPage() === null
        ? `All loaded: ${formatCount(list.size(), 'item')}.`
        : `Loaded ${formatCount(list.size(), 'item')}, the most that one page shows.`,
    );
  } catch (error) {
    const reason = signal.aborted ? 'Stopped' : toReason(error);
    controls.end(`${reason} after ${formatCount(list.size(), 'item')}.`);
    if (error instanceof SignInRequired) goToSignIn();
    if (error instanceof OtherSession) location.reload();
  }
}

/** @param {unknown} error */
function toReason(error) {
  if (error instanceof SignInRequired) return 'Your session has ended: loading ended';
  if (error instanceof OtherSession) return 'You signed in again in another tab: loading ended';
  if (error instanceof ListChanged) return 'The list has changed: loading ended';
  if (error instanceof PageFailed) return `${error.message}. Loading ended`;
  return navigator.onLine ? 'The connection failed: loading ended' : 'You were offline: loading ended';
}

/**
 * @param {Element} items
 * @param {(items: readonly Element[]) => void} onAdded
 */
function createGrowingList(items, onAdded) {
  const first = firstOf(document);
  let next = nextOf(document);
  const size = () => items.children.length;

  return {
    size,
    /** Returns the URL of the next page and the number of its first item; null at the end of the list. */
    nextPage: () => (next === null ? null : { url: next, first: first + size() }),
    isFull: () => next === null || size() >= MAX_ITEMS,
    /** @param {import('./fetch-list-page.js').ListPage} page */
    add(page) {
      const added = page.items.map((item) => document.importNode(item, true));
      for (const item of added) showLocalTimes(item);
      items.append(...added);
      next = page.next;
      showRange(first, size(), next);
      onAdded(added);
    },
    /** @param {boolean} isBusy */
    setBusy(isBusy) {
      items.setAttribute('aria-busy', String(isBusy));
    },
  };
}

/**
 * @param {number} first
 * @param {number} size
 * @param {string | null} next
 */
function showRange(first, size, next) {
  const range = document.querySelector('[data-range]');
  if (range !== null) range.textContent = `Items ${formatNumber(first)}–${formatNumber(first + size - 1)}`;
  // Links to parts of what is shown would confuse. Only the next page remains of use.
  for (const part of document.querySelectorAll('[data-pages], [data-skip-items], [data-sizes]'))
    part.toggleAttribute('hidden', next === null || part.matches('[data-sizes]'));
  if (next !== null) document.querySelector('a[rel="next"]')?.setAttribute('href', next);
}

/**
 * Creates the two buttons, of which one is shown at a time, and the words beside them.
 * @param {HTMLElement} place
 * @param {GrowingList} list
 */
function createControls(place, list) {
  const loadButton = find(place, '[data-load]', HTMLButtonElement);
  const stopButton = find(place, '[data-stop]', HTMLButtonElement);
  const progress = find(place, '[data-progress]', HTMLElement);
  const outcome = find(place, '[data-outcome]', HTMLElement);
  outcome.tabIndex = -1; // takes the focus where neither button is shown
  let onStop = () => {};
  stopButton.addEventListener('click', () => onStop());

  /** @param {boolean} isRunning */
  const setRunning = (isRunning) => {
    const hadFocus = document.activeElement === loadButton || document.activeElement === stopButton;
    loadButton.hidden = isRunning || list.isFull();
    stopButton.hidden = !isRunning;
    progress.textContent = '';
    list.setBusy(isRunning);
    const atRest = loadButton.hidden ? outcome : loadButton;
    if (hadFocus) (isRunning ? stopButton : atRest).focus();
  };

  return {
    /** @param {() => void} listener */
    onLoad: (listener) => loadButton.addEventListener('click', listener),
    /** @param {() => void} stop Called by the *Stop* button. */
    begin(stop) {
      onStop = stop;
      outcome.textContent = '';
      setRunning(true);
    },
    /** @param {string} words */
    showProgress: (words) => (progress.textContent = words),
    /** @param {string} words */
    end(words) {
      outcome.textContent = words;
      setRunning(false);
    },
  };
}
