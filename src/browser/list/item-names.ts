/** The number of items in this page’s list, and their names, such as “room” and “rooms”. */
import { formatCount } from '../counts.ts';

/** Returns what this page’s list calls its items. */
export function itemNames(): { singular: string; plural: string } {
  const list = document.querySelector('[data-singular]');
  return {
    singular: list?.getAttribute('data-singular') ?? 'item',
    plural: list?.getAttribute('data-plural') ?? 'items',
  };
}

/** Formats a number of items, such as “1 workspace” or “12,345 workspaces”. */
export function formatItems(number: number) {
  const { singular, plural } = itemNames();
  return formatCount(number, singular, plural);
}

/** Counts the items under `[data-items]`, which contains one list element for each page of the list. */
export function countItems(items: Element) {
  return [...items.children].reduce((count, list) => count + list.children.length, 0);
}
