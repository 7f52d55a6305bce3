/** Matches text as the server does (src/workspaces/search.ts). The same tests cover both. */

/**
 * Removes case and accents from text, in any Unicode normalisation form.
 * @param {string} text
 */
export function foldText(text) {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/**
 * Creates a function that tests whether a folded text contains every word of a search, in any order. Without words, every text
 * matches.
 * @param {string} words
 * @returns {(foldedText: string) => boolean}
 */
export function createMatcher(words) {
  const parts = foldText(words)
    .split(/\s+/)
    .filter((part) => part !== '');
  return (foldedText) => parts.every((part) => foldedText.includes(part));
}
