import { createMatcher } from './search-text.ts';
import { toItemRow } from './item-row.ts';
import type { WalkedPage } from './paging.ts';
import type { ListSource } from './service-pages.ts';
import type { SessionWalk } from './session-walk.ts';

/** Looks for words in a list, from a page on; of pages of the largest size, so that it takes few calls. */
interface FindRequest extends Omit<ListSource, 'limit'> {
  readonly words: string;
  /** Where it goes on, counted from 1 in pages of FIND_LIMIT items. */
  readonly from: number;
}

/** What was found, and how far it looked. */
export interface Found {
  readonly items: readonly unknown[];
  /** Number of items before those that were looked at, and up to the last of them. */
  readonly before: number;
  readonly upTo: number;
  /** Where to go on; absent where the list was looked through to its end. */
  readonly nextFrom?: number;
}

/** Rejects as PageByNumber does. */
export type FindItems = (request: FindRequest) => Promise<Found>;

const FIND_LIMIT = 100;
/** A page of results ends soon after these. */
const ENOUGH = 100;

/** Finds by walking: the service can't be asked. Bounded by the calls and the time of one walk, and by its results. */
export function createFinding(walk: SessionWalk): FindItems {
  return async ({ words, from, ...source }) => {
    const matches = createMatcher(words);
    let found: unknown[] = [];
    let before = 0;
    let upTo = 0;

    const look = (at: WalkedPage) => {
      if (at.page < from) return false;
      if (at.page === from) before = at.before;
      for (const item of at.items) {
        if (matches(toItemRow(item))) found.push(item);
      }
      upTo = at.before + at.items.length;
      return found.length >= ENOUGH;
    };
    const begin = () => {
      found = [];
      before = 0;
      upTo = 0;
      return look;
    };
    const end = await walk({ ...source, limit: FIND_LIMIT }, { from, begin });
    return {
      items: found,
      before,
      upTo,
      ...(end.following !== undefined && { nextFrom: Math.max(end.page + 1, from) }),
    };
  };
}
