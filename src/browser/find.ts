/** Filters the items on this page while the user types. Submitting the form makes the server search all pages. */
import { formatNumber } from './counts.ts';
import { createMatcher, foldText } from './find-text.ts';
import { formatItems, itemNames } from './item-names.ts';

/** Pause in typing before the status changes, in ms. Screen readers would otherwise announce a number after every letter. */
const ANNOUNCE_AFTER_MS = 400;

/** Starts the filter on a page that has a list and a search form. Returns a function that filters items added later. */
export function startFind(): (added: readonly Element[]) => void {
  const field = document.querySelector('[data-find-form] input[type="search"]');
  const items = document.querySelector('[data-items]');
  const status = document.querySelector('[data-find-status]');
  if (!(field instanceof HTMLInputElement) || items === null || status === null) return () => {};
  const announce = createAnnouncer(status);
  let matching = items.children.length;

  const filter = (some: Iterable<Element>) => {
    const isEmptied = field.value.trim() === '' && field.defaultValue !== '';
    // The list already shows the server's results for the default value.
    const isTyped = field.value.trim() !== '' && field.value !== field.defaultValue;
    const matches = createMatcher(isTyped ? field.value : '');
    for (const item of some) {
      const isFound = matches(foldedTextOf(item));
      item.toggleAttribute('hidden', !isFound);
      if (isFound) matching += 1;
    }
    items.toggleAttribute('data-nothing', matching === 0);
    if (isEmptied) announce(`Select Find to show all ${itemNames().plural}.`);
    else announce(isTyped ? toSentence(matching, items.children.length) : '');
  };
  const filterAll = () => {
    matching = 0;
    filter(items.children);
  };

  field.addEventListener('input', filterAll);
  keepWords(field);
  window.addEventListener('pageshow', filterAll);
  return filter;
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

function toSentence(matching: number, shown: number) {
  const verb = matching === 1 ? 'matches' : 'match';
  const isFirst = document.querySelector('[data-first="1"]') !== null;
  const isPart = !isFirst || document.querySelector('[data-pages]:not([hidden])') !== null;
  const count = `${formatNumber(matching)} of ${formatItems(shown)}`;
  return isPart
    ? `${count} on this page ${verb}. Select Find to search all ${itemNames().plural}.`
    : `${count} ${verb}.`;
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
