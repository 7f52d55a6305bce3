/** Loads the remaining pages of a list into this page, so that users can filter, read or print them together. */
import { contentRemovedSignal } from '../content-removed.ts';
import { formatNumber } from '../counts.ts';
import { find } from '../elements.ts';
import {
  fetchListPage,
  firstItemNumber,
  ListChanged,
  nameOf,
  nextPageUrl,
  OtherSession,
  PageFailed,
  type ListPage,
} from './fetch-list-page.ts';
import { countItems, formatItems, itemNames } from './item-names.ts';
import { showLocalTimes } from './local-times.ts';
import { goToSignIn, SignInRequired } from '../sign-in.ts';

/** Maximum number of items on one page, few enough for the memory of a phone. */
const MAX_ITEMS = 10_000;

type GrowingList = ReturnType<typeof createGrowingList>;
type Controls = ReturnType<typeof createControls>;

/** Shows *Load all pages* if the list has a next page. */
export function startLoadAllPages(onAdded: (list: Element) => void) {
  const place = document.querySelector('[data-load-pages]');
  const items = document.querySelector('[data-items]');
  if (!(place instanceof HTMLElement) || items === null) return;
  const list = createGrowingList(items, onAdded);
  const controls = createControls(place, list);
  controls.onLoad(() => void loadAll(list, controls));
  place.hidden = list.isFull();
}

async function loadAll(list: GrowingList, controls: Controls) {
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
        : `${formatItems(list.size())} are loaded, the maximum for one page. Select Next to see more.`,
    );
  } catch (error) {
    const reason = signal.aborted ? '' : `${toReason(error)} `;
    controls.end(`${reason}Loading stopped at ${formatItems(list.size())}.`);
    if (error instanceof SignInRequired) goToSignIn();
    if (error instanceof OtherSession) location.reload();
  }
}

function toCompletion({ size, isFromStart }: GrowingList) {
  return isFromStart
    ? `All ${formatItems(size())} are loaded.`
    : `${formatItems(size())} are loaded, up to the end of the list.`;
}

function toReason(error: unknown) {
  if (error instanceof SignInRequired) return 'Your session has ended.';
  if (error instanceof OtherSession) return 'You signed in again in another tab.';
  if (error instanceof ListChanged) return 'The list has changed. Reload this page.';
  if (error instanceof PageFailed) return `${error.message}.`;
  return navigator.onLine ? 'The connection failed.' : 'You are offline.';
}

function createGrowingList(items: Element, onAdded: (list: Element) => void) {
  const first = firstItemNumber(document);
  const size = () => countItems(items);
  const showRange = createRange();
  let next = nextPageUrl(document);

  return {
    size,
    /** Whether the page began with the first item in the list. */
    isFromStart: first === 1,
    /** Returns the position at which the list continues; null at its end. */
    nextPage() {
      const after = nameOf(items.lastElementChild?.lastElementChild);
      return next === null ? null : { url: next, first: first + size(), after };
    },
    isFull: () => next === null || size() >= MAX_ITEMS,
    add(page: ListPage) {
      showLocalTimes(page.list);
      page.list.style.setProperty('--items', String(page.list.childElementCount));
      items.append(page.list);
      next = page.next;
      showRange(first, size(), next);
      onAdded(page.list);
    },
    setBusy(isBusy: boolean) {
      items.setAttribute('aria-busy', String(isBusy));
    },
  };
}

/** Returns a function that shows which items are on the page. Finds the elements first, because that takes long in a long list. */
function createRange() {
  const range = document.querySelector('[data-range]');
  const parts = document.querySelectorAll('[data-pages], [data-skip-items], [data-sizes]');
  const nextLink = document.querySelector('a[rel="next"]');
  return (first: number, size: number, next: string | null) => {
    if (range !== null) {
      const [initial = '', ...rest] = itemNames().plural;
      const name = initial.toUpperCase() + rest.join('');
      range.textContent = `${name} ${formatNumber(first)}–${formatNumber(first + size - 1)}`;
    }
    // Links to pages that are already loaded would be confusing. Only the link to the next page is still useful.
    for (const part of parts) part.toggleAttribute('hidden', next === null || part.matches('[data-sizes]'));
    if (next !== null) nextLink?.setAttribute('href', next);
  };
}

/** Controls the *Load all pages* and *Stop* buttons, of which at most one is shown, and the messages next to them. */
function createControls(place: HTMLElement, list: GrowingList) {
  const loadButton = find(place, '[data-load]', HTMLButtonElement);
  const stopButton = find(place, '[data-stop]', HTMLButtonElement);
  const progress = find(place, '[data-progress]', HTMLElement);
  const outcome = find(place, '[data-outcome]', HTMLElement);
  outcome.tabIndex = -1; // takes the focus if neither button is shown
  let onStop = () => {};
  stopButton.addEventListener('click', () => onStop());

  const setRunning = (isRunning: boolean) => {
    const hadFocus = document.activeElement === loadButton || document.activeElement === stopButton;
    loadButton.hidden = isRunning || list.isFull();
    stopButton.hidden = !isRunning;
    progress.textContent = '';
    list.setBusy(isRunning);
    const atRest = loadButton.hidden ? outcome : loadButton;
    if (hadFocus) (isRunning ? stopButton : atRest).focus();
  };

  return {
    onLoad: (listener: () => void) => loadButton.addEventListener('click', listener),
    /** @param stop Called by the *Stop* button. */
    begin(stop: () => void) {
      onStop = stop;
      outcome.textContent = '';
      setRunning(true);
    },
    showProgress: (words: string) => (progress.textContent = words),
    end(words: string) {
      outcome.textContent = words;
      setRunning(false);
    },
  };
}
