/** Text matching as on the server (src/workspaces/search.ts). One table of tests covers both. */

/**
 * Removes case and accents from a text, in any form of Unicode.
 * @param {string} text
 */
export function foldText(text) {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/**
 * Creates a test for folded texts that contain every word of a search, in any order. No words match everything.
 * @param {string} words
 * @returns {(foldedText: string) => boolean}
 */
export function createMatcher(words) {
  const parts = foldText(words)
    .split(/\s+/)
    .filter((part) => part !== '');
  return (foldedText) => parts.every((part) => foldedText.includes(part));
}
