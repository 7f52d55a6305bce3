/** Filters the items on this page while the user types. Submitting the form makes the server search all pages. */
import { formatNumber } from '../counts.ts';
import { createMatcher, foldText } from './find-text.ts';
import { countItems, formatItems, itemNames } from './item-names.ts';

/** Pause in typing before the status changes, in ms. Screen readers would otherwise announce a number after every letter. */
const ANNOUNCE_AFTER_MS = 400;

/** Starts the filter on a page that has a list and a search form. Returns a function that filters a list added later. */
export function startFind(): (added: Element) => void {
  const field = document.querySelector('[data-find-form] input[type="search"]');
  const items = document.querySelector('[data-items]');
  const status = document.querySelector('[data-find-status]');
  if (!(field instanceof HTMLInputElement) || items === null || status === null) return () => {};
  const announce = createAnnouncer(status);
  const toSentence = createSentence();
  /** Number of matching items in each list. */
  const matching = new Map([...items.children].map((list) => [list, list.children.length]));

  // The list already shows the server's results for the default value.
  const isTyped = () => field.value.trim() !== '' && field.value !== field.defaultValue;
  const toMatcher = () => createMatcher(isTyped() ? field.value : '');
  const count = () => [...matching.values()].reduce((sum, found) => sum + found, 0);

  const filter = (list: Element, matches: (foldedText: string) => boolean) => {
    let found = 0;
    for (const item of list.children) {
      const isFound = matches(foldedTextOf(item));
      item.toggleAttribute('hidden', !isFound);
      if (isFound) found += 1;
    }
    matching.set(list, found);
    list.toggleAttribute('hidden', found === 0);
    list.toggleAttribute('data-filtered', found < list.childElementCount);
    items.toggleAttribute('data-nothing', count() === 0);
  };
  const showStatus = () => {
    const isEmptied = field.value.trim() === '' && field.defaultValue !== '';
    if (isEmptied) announce(`Select Find to show all ${itemNames().plural}.`);
    else announce(isTyped() ? toSentence(count(), countItems(items)) : '');
  };
  const filterAll = () => {
    const matches = toMatcher();
    for (const list of items.children) filter(list, matches);
    showStatus();
  };

  field.addEventListener('input', filterAll);
  keepWords(field);
  window.addEventListener('pageshow', filterAll);
  return (added) => {
    filter(added, toMatcher());
    showStatus();
  };
}

function createAnnouncer(status: Element) {
  let timer: ReturnType<typeof setTimeout> | undefined;
  return (words: string) => {
    clearTimeout(timer);
    timer = setTimeout(() => (status.textContent = words), ANNOUNCE_AFTER_MS);
  };
}

const foldedTexts: WeakMap<Element, string> = new WeakMap();

function foldedTextOf(item: Element) {
  const known = foldedTexts.get(item);
  if (known !== undefined) return known;
  const texts = [...item.querySelectorAll('[data-find]')].map((part) => part.textContent ?? '');
  const folded = foldText(texts.join('\n'));
  foldedTexts.set(item, folded);
  return folded;
}

/** Returns a function that describes the matches. Finds the elements first, because that takes long in a long list. */
function createSentence() {
  const isFirst = document.querySelector('[data-first="1"]') !== null;
  const pages = document.querySelector('[data-pages]');
  return (matching: number, shown: number) => {
    const verb = matching === 1 ? 'matches' : 'match';
    const isPart = !isFirst || pages?.hasAttribute('hidden') === false;
    const count = `${formatNumber(matching)} of ${formatItems(shown)}`;
    return isPart
      ? `${count} on this page ${verb}. Select Find to search all ${itemNames().plural}.`
      : `${count} ${verb}.`;
  };
}

/**
 * Restores the search text when the user comes back to the page. Browser autocomplete would also offer the text to the next
 * user.
 */
function keepWords(field: HTMLInputElement) {
  const { session } = document.body.dataset;
  const kept = history.state as { find?: unknown; session?: unknown } | null;
  if (typeof kept?.find === 'string' && kept.session === session) field.value = kept.find;
  // `change` fires before a click on a link leaves the page.
  field.addEventListener('change', () => history.replaceState({ find: field.value, session }, ''));
}
