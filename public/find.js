/** Filters the items on this page while the user types. Submitting the form makes the server search all pages. */
import { formatNumber } from './counts.js';
import { createMatcher, foldText } from './find-text.js';
import { formatItems, itemNames } from './item-names.js';

/** Pause in typing before the status changes, in ms. Screen readers would otherwise announce a number after every letter. */
const ANNOUNCE_AFTER_MS = 400;

/**
 * Starts the filter on a page that has a list and a search form. Returns a function that filters items added later.
 * @returns {(added: readonly Element[]) => void}
 */
export function startFind() {
  const field = document.querySelector('[data-find-form] input[type="search"]');
  const items = document.querySelector('[data-items]');
  const status = document.querySelector('[data-find-status]');
  if (!(field instanceof HTMLInputElement) || items === null || status === null) return () => {};
  const announce = createAnnouncer(status);
  let matching = items.children.length;

  /** @param {Iterable<Element>} some */
  const filter = (some) => {
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

/** @param {Element} status */
function createAnnouncer(status) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  return (/** @type {string} */ words) => {
    clearTimeout(timer);
    timer = setTimeout(() => (status.textContent = words), ANNOUNCE_AFTER_MS);
  };
}

/** @type {WeakMap<Element, string>} */
const foldedTexts = new WeakMap();

/** @param {Element} item */
function foldedTextOf(item) {
  const known = foldedTexts.get(item);
  if (known !== undefined) return known;
  const texts = [...item.querySelectorAll('[data-find]')].map((part) => part.textContent ?? '');
  const folded = foldText(texts.join('\n'));
  foldedTexts.set(item, folded);
  return folded;
}

/**
 * @param {number} matching
 * @param {number} shown
 */
function toSentence(matching, shown) {
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
 * @param {HTMLInputElement} field
 */
function keepWords(field) {
  const { session } = document.body.dataset;
  const kept = /** @type {{ find?: unknown, session?: unknown } | null} */ (history.state);
  if (typeof kept?.find === 'string' && kept.session === session) field.value = kept.find;
  // `change` fires before a click on a link leaves the page.
  field.addEventListener('change', () => history.replaceState({ find: field.value, session }, ''));
}
