/** The singular and plural names of the items in this page’s list, such as “room” and “rooms”. */
import { formatCount } from './counts.ts';

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
