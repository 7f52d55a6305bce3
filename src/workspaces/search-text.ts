import type { ItemRow } from './item-row.ts';

/**
 * What finding compares: without case and accents, in any form of Unicode. `public/find.js` does the same with what
 * stands in a page.
 */
function foldText(text: string): string {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
}

/** Whether every word of a search stands somewhere in what a page shows of an item. No words match everything. */
export function createMatcher(words: string): (row: ItemRow) => boolean {
  const parts = foldText(words)
    .split(/\s+/)
    .filter((part) => part !== '');
  return ({ name, description, flags, created, updated, details }) => {
    const texts = [...flags, ...details].map(({ text }) => text);
    const shown = [name, description, created?.day, updated?.day, ...texts];
    const folded = foldText(shown.join('\n'));
    return parts.every((part) => folded.includes(part));
  };
}
