/** Matches text in the same way as the server (src/workspaces/search.ts). The same tests cover both implementations. */

/** Lowercases text and strips accents, whatever the Unicode normalisation form of the text. */
export function foldText(text: string) {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/**
 * Creates a function that tests whether a folded text contains every word of a search, in any order. An empty search matches
 * every text.
 */
export function createMatcher(words: string): (foldedText: string) => boolean {
  const parts = foldText(words)
    .split(/\s+/)
    .filter((part) => part !== '');
  return (foldedText) => parts.every((part) => foldedText.includes(part));
}
