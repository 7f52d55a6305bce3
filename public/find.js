/** Filters the items of a page while the user types. The server searches all pages. */
import { grouped } from './counts.js';
import { createMatcher, foldText } from './find-text.js';

/** What is said waits for a pause in typing: a screen reader would read out a number for each letter. */
const SAY_AFTER_MS = 400;

/** @type {WeakMap<Element, string>} */
const foldedTexts = new WeakMap();

/** @param {Element} item */
function foldedTextOf(item) {
  const known = foldedTexts.get(item);
  if (known !== undefined) return known;
  const shown = [...item.querySelectorAll('[data-find]')].map((each) => each.textContent ?? '');
  const folded = foldText(shown.join('\n'));
  foldedTexts.set(item, folded);
  return folded;
}

/**
 * @param {number} matching
 * @param {number} shown
 */
function toWords(matching, shown) {
  const verb = matching === 1 ? 'matches' : 'match';
  const isFirst = document.querySelector('[data-first="1"]') !== null;
  const isPart = !isFirst || document.querySelector('[data-pages]:not([hidden])') !== null;
  return isPart
    ? `${grouped(matching)} of the ${grouped(shown)} shown here ${verb}. Press Find to search all of them.`
    : `${grouped(matching)} of all ${grouped(shown)} ${verb}.`;
}

/** @param {Element} status */
function createStatusLine(status) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let due;
  return (/** @type {string} */ words) => {
    clearTimeout(due);
    due = setTimeout(() => (status.textContent = words), SAY_AFTER_MS);
  };
}

/**
 * Whoever comes back to a page finds it filtered as it was. A browser would do so by itself, and offer the words to whoever
 * sits here next.
 * @param {HTMLInputElement} field
 */
function keepWords(field) {
  const { session } = document.body.dataset;
  const kept = /** @type {{ find?: unknown, session?: unknown } | null} */ (history.state);
  if (typeof kept?.find === 'string' && kept.session === session) field.value = kept.find;
  // Comes before a link is followed: that takes the focus away.
  field.addEventListener('change', () => history.replaceState({ find: field.value, session }, ''));
}

/**
 * Begins to filter where the page has a list and its form. The function that it gives filters more items that came into
 * the list.
 * @returns {(more: readonly Element[]) => void}
 */
export function startFind() {
  const field = document.querySelector('[data-find-form] input[type="search"]');
  const items = document.querySelector('[data-items]');
  const status = document.querySelector('[data-find-status]');
  if (!(field instanceof HTMLInputElement) || items === null || status === null) return () => {};
  const say = createStatusLine(status);
  let matching = items.children.length;

  /** @param {Iterable<Element>} some */
  const filter = (some) => {
    const isEmptied = field.value.trim() === '' && field.defaultValue !== '';
    // The server has already searched for the words that the form came with.
    const isTyped = field.value.trim() !== '' && field.value !== field.defaultValue;
    const matches = createMatcher(isTyped ? field.value : '');
    for (const item of some) {
      const isFound = matches(foldedTextOf(item));
      item.toggleAttribute('hidden', !isFound);
      if (isFound) matching += 1;
    }
    items.toggleAttribute('data-nothing', matching === 0);
    if (isEmptied) say('Press Find to show all again.');
    else say(isTyped ? toWords(matching, items.children.length) : '');
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
