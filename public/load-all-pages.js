/** Loads the remaining pages of a list into this page, so that users can filter, read or print them together. */
import { contentRemovedSignal } from './content-removed.js';
import { formatNumber } from './counts.js';
import { find } from './elements.js';
import {
  fetchListPage,
  firstItemNumber,
  ListChanged,
  nextPageUrl,
  OtherSession,
  PageFailed,
} from './fetch-list-page.js';
import { formatItems, itemNames } from './item-names.js';
import { showLocalTimes } from './local-times.js';
import { goToSignIn, SignInRequired } from './sign-in.js';

/** Maximum number of items on one page, few enough for a phone to display. */
const MAX_ITEMS = 5_000;

/** @typedef {ReturnType<typeof createGrowingList>} GrowingList */
/** @typedef {ReturnType<typeof createControls>} Controls */

/**
 * Shows *Load all pages* if the list has a next page.
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
      controls.showProgress(`${formatItems(list.size())} loaded…`);
    }
    controls.end(
      list.nextPage() === null
        ? toCompletion(list)
        : `${formatItems(list.size())} are shown, the maximum for one page. Select Next to see more.`,
    );
  } catch (error) {
    const reason = signal.aborted ? '' : `${toReason(error)} `;
    controls.end(`${reason}Loading stopped at ${formatItems(list.size())}.`);
    if (error instanceof SignInRequired) goToSignIn();
    if (error instanceof OtherSession) location.reload();
  }
}

/** @param {GrowingList} list */
function toCompletion({ size, isFromStart }) {
  return isFromStart
    ? `All ${formatItems(size())} are shown.`
    : `${formatItems(size())} are shown, up to the end of the list.`;
}

/** @param {unknown} error */
function toReason(error) {
  if (error instanceof SignInRequired) return 'Your session has ended.';
  if (error instanceof OtherSession) return 'You signed in again in another tab.';
  if (error instanceof ListChanged) return 'The list has changed. Reload this page.';
  if (error instanceof PageFailed) return `${error.message}.`;
  return navigator.onLine ? 'The connection failed.' : 'You are offline.';
}

/**
 * @param {Element} items
 * @param {(items: readonly Element[]) => void} onAdded
 */
function createGrowingList(items, onAdded) {
  const first = firstItemNumber(document);
  let next = nextPageUrl(document);
  const size = () => items.children.length;

  return {
    size,
    /** Whether the page began with the first item in the list. */
    isFromStart: first === 1,
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
  if (range !== null) {
    const [initial = '', ...rest] = itemNames().plural;
    const name = initial.toUpperCase() + rest.join('');
    range.textContent = `${name} ${formatNumber(first)}–${formatNumber(first + size - 1)}`;
  }
  // Links to pages that are already loaded would be confusing. Only the link to the next page is still useful.
  for (const part of document.querySelectorAll('[data-pages], [data-skip-items], [data-sizes]'))
    part.toggleAttribute('hidden', next === null || part.matches('[data-sizes]'));
  if (next !== null) document.querySelector('a[rel="next"]')?.setAttribute('href', next);
}

/**
 * Controls the *Load all pages* and *Stop* buttons, of which at most one is shown, and the messages next to them.
 * @param {HTMLElement} place
 * @param {GrowingList} list
 */
function createControls(place, list) {
  const loadButton = find(place, '[data-load]', HTMLButtonElement);
  const stopButton = find(place, '[data-stop]', HTMLButtonElement);
  const progress = find(place, '[data-progress]', HTMLElement);
  const outcome = find(place, '[data-outcome]', HTMLElement);
  outcome.tabIndex = -1; // takes the focus if neither button is shown
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
