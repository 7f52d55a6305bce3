import type { PageTokens } from './page-tokens.ts';
import { walkPages } from './page-walk.ts';
import type { PageMark, Walk, WalkedPage } from './page-walk.ts';
import { ServiceAnswerError } from './service-answer-error.ts';
import type { AskPage, ListSource } from './service-pages.ts';

/** A list and the number of the page that is wanted, counted from 1. */
interface ListRequest extends ListSource {
  readonly page: number;
}

/** The page that is shown: the one asked for, the last one, or the furthest that could be reached. */
export interface ListedPage {
  readonly items: readonly unknown[];
  readonly page: number;
  readonly limit: number;
  /** Number of items on the pages before this one. */
  readonly before: number;
  readonly hasNext: boolean;
  /** `last`: the list ends before the page asked for. `furthest`: the walk there would have taken too long. */
  readonly reached: 'asked' | 'last' | 'furthest';
}

/**
 * Gives one page of any list of the service by its number. Rejects with an AppError that has words for a page, with
 * SessionEndedError, or with the reason of the request's signal.
 */
export type ListPage = (request: ListRequest) => Promise<ListedPage>;

const FIRST_PAGE = { page: 1, mark: { before: 0 } };

/**
 * Page numbers over tokens that only lead onwards: a page that was not visited before is walked to from the nearest
 * one that is known, and every mark found on the way is kept for the session. `now` is in ms since the epoch.
 */
export function createListing(deps: {
  readonly readList: (source: ListSource) => AskPage;
  readonly pageTokens: PageTokens;
  readonly now: () => number;
}): ListPage {
  const { readList, pageTokens, now } = deps;

  return async (request) => {
    const list = { sessionId: request.ticket.id, path: request.path, limit: request.limit };
    const ask = readList(request);

    const walkFrom = async (from: Walk['from']) => {
      const found = new Map<number, PageMark>();
      const onMark = (page: number, mark: PageMark) => void found.set(page, mark);
      try {
        return toListedPage(await walkPages({ ask, from, to: request.page, onMark, now }), request);
      } finally {
        // Comes after the page or its error, and must not take their place: it never rejects.
        await pageTokens.remember(list, found);
      }
    };

    const known = await pageTokens.nearest(list, request.page);
    if (known === null) return walkFrom(FIRST_PAGE);
    try {
      return await walkFrom(known);
    } catch (error) {
      if (!isRefusedToken(error)) throw error;
      // The service no longer takes a token that was kept; the others of this list are as old.
      await pageTokens.forget(list);
      return walkFrom(FIRST_PAGE);
    }
  };
}

function isRefusedToken(error: unknown): boolean {
  return error instanceof ServiceAnswerError && error.serviceStatus === 400;
}

function toListedPage(walked: WalkedPage, request: ListRequest): ListedPage {
  const hasNext = walked.following !== undefined;
  const early = hasNext ? 'furthest' : 'last';
  return {
    items: walked.items,
    page: walked.page,
    limit: request.limit,
    before: walked.before,
    hasNext,
    reached: walked.page === request.page ? 'asked' : early,
  };
}
