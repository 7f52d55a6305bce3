import { SessionEndedError } from '../errors.ts';
import type { SessionStore } from '../session/store.ts';
import type { PageTokens } from './cursors.ts';
import { walkPages } from './paging.ts';
import type { PageMark, Walk, WalkedPage } from './paging.ts';
import { isExpiredToken } from './service-errors.ts';
import type { AskPage, ListSource } from './service-pages.ts';

/** What is looked for in a list: it sees every page from the nearest known one on, and says when it is there. */
interface Search {
  /** The page from which on it is interested, counted from 1: the walk begins there or before. */
  readonly from: number;
  /** Begins anew where a walk has to: what was seen before counts no more. */
  begin(): Walk['isThere'];
}

/** Walks to where a search wants to go. Rejects as the calls do, with SessionEndedError, or the signal's reason. */
export type SessionWalk = (source: ListSource, search: Search) => Promise<WalkedPage>;

const FIRST_PAGE = { page: 1, mark: { before: 0 } };

/**
 * Adds to the single walk (`paging.ts`) what a session remembers: it begins at the nearest page whose token is known,
 * keeps every mark that it comes by (`page-tokens.ts`), and begins at the first page where the service no longer takes a
 * token that was kept. `now` is in ms since the epoch.
 */
export function createSessionWalk(deps: {
  readonly readList: (source: ListSource) => AskPage;
  readonly sessions: Pick<SessionStore, 'read'>;
  readonly pageTokens: PageTokens;
  readonly now: () => number;
}): SessionWalk {
  const { readList, sessions, pageTokens, now } = deps;

  /** The session was read for the first page; what goes on is to end with it. */
  const untilSignedOut = (source: ListSource): AskPage => {
    const ask = readList(source);
    let calls = 0;
    return async (next) => {
      calls += 1;
      if (calls > 1 && (await sessions.read(source.ticket.id, source.notes)) === null)
        throw new SessionEndedError();
      return ask(next);
    };
  };

  return async (source, search) => {
    const list = { sessionId: source.ticket.id, path: source.path, limit: source.limit };
    const ask = untilSignedOut(source);

    const walkFrom = async (from: Walk['from']) => {
      const found = new Map<number, PageMark>();
      const onMark = (page: number, mark: PageMark) => void found.set(page, mark);
      try {
        return await walkPages({ ask, from, isThere: search.begin(), onMark, now });
      } catch (error) {
        if (error instanceof SessionEndedError) found.clear(); // nobody comes back to them
        throw error;
      } finally {
        // Comes after the page or its error, and must not take their place: it never rejects.
        await pageTokens.remember(list, found);
      }
    };

    const known = await pageTokens.nearest(list, search.from);
    if (known === null) return walkFrom(FIRST_PAGE);
    try {
      return await walkFrom(known);
    } catch (error) {
      if (!isExpiredToken(error)) throw error;
      // The others of this list are as old.
      await pageTokens.forget(list);
      return walkFrom(FIRST_PAGE);
    }
  };
}
