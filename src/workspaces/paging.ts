import { createLoopGuard } from './loop-guard.ts';
import { ServiceAnswerError } from './service-errors.ts';
import type { AskPage } from './service-pages.ts';

/** How a page is asked for. */
export interface PageMark {
  /** The service's token for it; absent for the first page. */
  readonly next?: string;
  /** Number of items on the pages before it. */
  readonly before: number;
}

/** A page with its place in the list, counted from 1. */
export interface WalkedPage {
  readonly page: number;
  readonly items: readonly unknown[];
  readonly before: number;
  /** Leads to the page after it; absent on the last one. */
  readonly following?: PageMark;
}

export interface Walk {
  readonly ask: AskPage;
  readonly from: { readonly page: number; readonly mark: PageMark };
  /** Whether the walk need go no further; sees every page once, in order. */
  readonly isThere: (page: WalkedPage) => boolean;
  /** Hears of every mark that the walk comes by, also of one that fails later. */
  readonly onMark: (page: number, mark: PageMark) => void;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const MOST_CALLS = 200;
const LONGEST_WALK_MS = 10_000;

/**
 * One walk, which remembers nothing: from one page to later ones, call by call, for there is no other way. Resolves to the page that is there, to the
 * last one where the list ends before it, or to the furthest that calls and time allow. Throws what `ask` does.
 */
export async function walkPages({ ask, from, isThere, onMark, now }: Walk): Promise<WalkedPage> {
  const visit = createVisit(ask, from.mark);
  const stopAt = now() + LONGEST_WALK_MS;
  let at = await visit(from.page, from.mark);
  for (let calls = 1; ; calls += 1) {
    const there = isThere(at);
    if (at.following === undefined) return at;
    onMark(at.page + 1, at.following);
    if (there || calls >= MOST_CALLS || now() >= stopAt) return at;
    const onwards = await visit(at.page + 1, at.following).catch(unlessRateLimited);
    if (onwards === null) return at;
    at = onwards;
  }
}

/** It may be the walk itself that the service finds too fast: then what was reached is shown. */
function unlessRateLimited(error: unknown): null {
  if (error instanceof ServiceAnswerError && error.serviceStatus === 429) return null;
  throw error;
}

/** Asks for the pages of one walk that begins with a mark, each with its place. */
function createVisit(ask: AskPage, start: PageMark): (page: number, mark: PageMark) => Promise<WalkedPage> {
  const noLoop = createLoopGuard();
  noLoop(start.next);
  return async (page, { next: token, before }) => {
    const { items, next } = await ask(token);
    noLoop(next);
    return {
      page,
      items,
      before,
      ...(next !== undefined && { following: { next, before: before + items.length } }),
    };
  };
}
