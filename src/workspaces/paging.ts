import { createHash } from 'node:crypto';
import { SessionEndedError } from '../errors.ts';
import type { ApiClient, ListRequest, ReadPage } from './api-client.ts';
import type { Cursors, PageStart } from './cursors.ts';
import { isExpiredCursor, ServiceStatusError, toUnreadableResponse } from './service-errors.ts';

/** A page and its position in the list. */
export interface PositionedPage {
  /** Page number, counted from 1. */
  readonly page: number;
  readonly items: readonly unknown[];
  /** Number of items on the pages before this one. */
  readonly before: number;
  /** Start of the next page; absent on the last page. */
  readonly next?: PageStart;
}

/** The page to show: the requested page, the last page, or the furthest page within the limits. */
export interface ListedPage extends PositionedPage {
  readonly limit: number;
  /** `last`: the list ends before the requested page. `furthest`: reaching the requested page would exceed a limit. */
  readonly reached: 'requested' | 'last' | 'furthest';
}

/** The pages that `seek` looks for in a list. */
interface SeekTarget {
  /** The first page of interest. Seeking starts at or before this page. */
  readonly page: number;
  /** Starts over. Returns a function that receives each page once, in order, and returns true for the last page needed. */
  start(): (page: PositionedPage) => boolean;
}

export type Paging = ReturnType<typeof createPaging>;

const FIRST_PAGE: PageStart = { page: 1, before: 0 };
/** Maximum number of requests, and maximum time (ms), for seeking one page. */
const MAX_REQUESTS = 200;
const MAX_MS = 10_000;

/**
 * Reads pages of a list by number, although the service only provides a cursor for the next page. Seeking starts at the nearest
 * earlier page with a stored cursor. Rejects like ApiClient.
 */
export function createPaging(deps: {
  readonly api: Pick<ApiClient, 'createReadPage'>;
  readonly cursors: Cursors;
  readonly now: () => number;
}) {
  const { api, cursors, now } = deps;

  /**
   * Reads pages until `isLast` returns true, the list ends or a limit is reached. Adds the start of each subsequent page to `found`.
   */
  const readFrom = async (
    start: PageStart,
    readPage: ReadPage,
    isLast: (page: PositionedPage) => boolean,
    found: PageStart[],
  ): Promise<PositionedPage> => {
    const refuseLoop = createLoopGuard();
    const readPositioned = async ({ page, cursor, before }: PageStart): Promise<PositionedPage> => {
      const { items, next } = await readPage(cursor);
      refuseLoop(next);
      const following = { page: page + 1, cursor: next, before: before + items.length };
      return { page, items, before, ...(next !== undefined && { next: following }) };
    };
    refuseLoop(start.cursor);
    const stopAt = now() + MAX_MS;
    let at = await readPositioned(start);
    for (let requests = 1; ; requests += 1) {
      const isDone = isLast(at);
      if (at.next === undefined) return at;
      found.push(at.next);
      if (isDone || requests >= MAX_REQUESTS || now() >= stopAt) return at;
      const next = await readPositioned(at.next).catch(unlessRateLimited);
      if (next === null) return at;
      at = next;
    }
  };

  const seek = async (list: ListRequest, target: SeekTarget): Promise<PositionedPage> => {
    const name = { sessionId: list.session.id, path: list.path, limit: list.limit };
    const readPage = api.createReadPage(list);

    const seekFrom = async (start: PageStart) => {
      const found: PageStart[] = [];
      try {
        return await readFrom(start, readPage, target.start(), found);
      } catch (error) {
        if (error instanceof SessionEndedError) found.length = 0; // an ended session has no use for cursors
        throw error;
      } finally {
        await cursors.add(name, found); // never rejects, so the result or error is preserved
      }
    };

    const known = await cursors.nearest(name, target.page);
    if (known === null) return seekFrom(FIRST_PAGE);
    try {
      return await seekFrom(known);
    } catch (error) {
      if (!isExpiredCursor(error)) throw error;
      await cursors.clear(name); // the list's other cursors are just as old
      return seekFrom(FIRST_PAGE);
    }
  };

  return {
    seek,
    async readPage(list: ListRequest, page: number): Promise<ListedPage> {
      const shown = await seek(list, { page, start: () => (at) => at.page >= page });
      const early = shown.next === undefined ? 'last' : 'furthest';
      return { ...shown, limit: list.limit, reached: shown.page === page ? 'requested' : early };
    },
  };
}

/**
 * Returns a function that refuses repeated cursors, which would repeat the same pages forever. Only digests are kept, because
 * cursors may be long.
 */
export function createLoopGuard(): (cursor: string | undefined) => void {
  const seen = new Set<string>();
  return (cursor) => {
    if (cursor === undefined) return;
    const digest = createHash('sha256').update(cursor).digest('base64url');
    if (seen.has(digest)) throw toUnreadableResponse('the list leads back to an earlier page');
    seen.add(digest);
  };
}

/** Returns null for a 429, and rethrows other errors. If seeking exceeds the service's rate limit, the page reached so far is shown. */
function unlessRateLimited(error: unknown): null {
  if (error instanceof ServiceStatusError && error.serviceStatus === 429) return null;
  throw error;
}
