/** Filters the items of a page while somebody types. To look through all pages is the server's, or load-pages.js first. */

/** @type {WeakMap<Element, string>} */
const foldedTexts = new WeakMap();

/**
 * As the server compares (src/workspaces/find-text.ts): without case and accents, in any form of Unicode.
 * @param {string} text
 */
function foldText(text) {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

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
 * Begins to filter where the page has a list and its form. The function that it gives filters anew, e.g. when there are
 * more items.
 * @returns {() => void}
 */
export function startFind() {
  const field = document.querySelector('[data-find-form] input[type="search"]');
  const items = document.querySelector('[data-items]');
  const status = document.querySelector('[data-find-status]');
  if (!(field instanceof HTMLInputElement) || items === null || status === null) return () => {};

  const filter = () => {
    const isTyped = field.value.trim() !== '' && field.value !== field.defaultValue;
    const words = foldText(field.value)
      .split(/\s+/)
      .filter((word) => word !== '');
    let matching = 0;
    for (const item of items.children) {
      const matches = !isTyped || words.every((word) => foldedTextOf(item).includes(word));
      item.toggleAttribute('hidden', !matches);
      if (matches) matching += 1;
    }
    items.toggleAttribute('data-nothing', matching === 0);
    const all = items.children.length;
    const verb = matching === 1 ? 'matches' : 'match';
    status.textContent = isTyped
      ? `${matching.toLocaleString('en')} of the ${all.toLocaleString('en')} shown here ${verb}. Press Find to look through all.`
      : '';
  };

  field.addEventListener('input', filter);
  // A browser that comes back to a page fills the field in again.
  window.addEventListener('pageshow', filter);
  return filter;
}
