/** What finding compares, just as the server does (src/workspaces/search-text.ts): one test holds both to the same table. */

/**
 * A text without case and accents, in any form of Unicode.
 * @param {string} text
 */
export function foldText(text) {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/**
 * Whether every word of a search stands somewhere in a folded text. No words match everything.
 * @param {string} words
 * @returns {(foldedText: string) => boolean}
 */
export function createMatcher(words) {
  const parts = foldText(words)
    .split(/\s+/)
    .filter((part) => part !== '');
  return (foldedText) => parts.every((part) => foldedText.includes(part));
}
