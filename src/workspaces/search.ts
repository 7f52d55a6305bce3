import type { ListRequest } from './api-client.ts';
import { toItemView, type ItemView } from './item-view.ts';
import type { Paging, PositionedPage } from './paging.ts';

/** The matches that a search found, and the part of the list that it covered. */
export interface SearchResult {
  readonly items: readonly unknown[];
  /** Number of items before the searched part (`before`), and up to the end of that part (`upTo`). */
  readonly before: number;
  readonly upTo: number;
  /** Page at which to continue; absent if the search reached the end of the list. */
  readonly nextFrom?: number;
}

/** The service's maximum page size, so that a search takes few requests. */
const SEARCH_LIMIT = 100;
/** A search stops after the page on which it reaches this many matches. */
const ENOUGH_ITEMS = 100;

/**
 * Returns a function that searches a list for words by reading its pages, because the service has no search. The search reads
 * pages of 100 items from page `from` onwards, until it has enough matches or reaches one of `seek`'s limits. Rejects like `seek`.
 */
export function createSearch({ seek }: Pick<Paging, 'seek'>) {
  return async (request: Omit<ListRequest, 'limit'>, words: string, from: number): Promise<SearchResult> => {
    const matches = createMatcher(words);
    let result = { items: [] as unknown[], before: 0, upTo: 0 };

    const searchPage = (at: PositionedPage) => {
      if (at.page < from) return false;
      if (at.page === from) result.before = at.before;
      for (const item of at.items) if (matches(toItemView(item))) result.items.push(item);
      result.upTo = at.before + at.items.length;
      return result.items.length >= ENOUGH_ITEMS;
    };
    const start = () => {
      result = { items: [], before: 0, upTo: 0 };
      return searchPage;
    };
    const last = await seek({ ...request, limit: SEARCH_LIMIT }, { page: from, start });
    return { ...result, ...(last.next !== undefined && { nextFrom: Math.max(last.page + 1, from) }) };
  };
}

/**
 * Returns a function that checks whether every word occurs in the text shown for an item. If there are no words, every item matches.
 */
export function createMatcher(words: string): (row: ItemView) => boolean {
  const parts = foldText(words)
    .split(/\s+/)
    .filter((part) => part !== '');
  return ({ name, description, flags, created, updated, details }) => {
    const texts = [...flags, ...details].map(({ text }) => text);
    const shown = foldText([name, description, created?.day, updated?.day, ...texts].join('\n'));
    return parts.every((part) => shown.includes(part));
  };
}

/** Removes accents and differences in case and Unicode form, as `src/browser/list/find-text.ts` does in the browser. */
function foldText(text: string): string {
  return text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase();
}
