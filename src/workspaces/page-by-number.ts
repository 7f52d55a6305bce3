import type { SessionWalk } from './session-walk.ts';
import type { WalkedPage } from './paging.ts';
import type { ListSource } from './service-pages.ts';

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
export type PageByNumber = (request: ListRequest) => Promise<ListedPage>;

/** Page numbers over tokens that only lead onwards: a page that was not visited before is walked to. */
export function createPageByNumber(walk: SessionWalk): PageByNumber {
  return async (request) => {
    const search = { from: request.page, begin: () => (at: WalkedPage) => at.page >= request.page };
    return toListedPage(await walk(request, search), request);
  };
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
