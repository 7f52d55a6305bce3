import type { ListedPage } from './page-by-number.ts';

/** Which page of a list an address asks for. */
export interface PageAddress {
  readonly limit: number;
  readonly page: number;
}

interface PageLink {
  readonly label: string;
  readonly href: string;
  readonly current: boolean;
}

/** What the page links of a list show; a link that leads nowhere has no address. */
export interface Pagination {
  readonly page: number;
  /** Which items are shown, counted from 1 through the whole list; absent where there are none. */
  readonly range?: string;
  readonly first?: string;
  readonly previous?: string;
  readonly next?: string;
  /** Empty where the whole list fits on the smallest page. */
  readonly sizes: readonly PageLink[];
}

const LARGEST_LIMIT = 100;
const SMALLEST_USUAL_LIMIT = 10;
const USUAL_LIMITS = [SMALLEST_USUAL_LIMIT, 25, 50, LARGEST_LIMIT];
/** Far beyond any list that can be walked. */
const LARGEST_PAGE = 1_000_000;

/** Reads `limit` and `page` from a query: held to 1–100 and to 1–1,000,000; what is no whole number counts as absent. */
export function toPageAddress(
  query: { readonly [name: string]: unknown },
  defaultLimit: number,
): PageAddress {
  const limit = toWholeNumber(query['limit']) ?? defaultLimit;
  const page = toWholeNumber(query['page']) ?? 1;
  return {
    limit: Math.min(Math.max(1, limit), LARGEST_LIMIT),
    page: Math.min(Math.max(1, page), LARGEST_PAGE),
  };
}

function toWholeNumber(value: unknown): number | undefined {
  return typeof value === 'string' && /^[+-]?\d+$/.test(value) ? Number(value) : undefined;
}

/** `hrefOf` gives the address of a page; `defaultLimit` is always one of the sizes offered. */
export function toPagination(
  listed: ListedPage,
  hrefOf: (address: PageAddress) => string,
  defaultLimit: number,
): Pagination {
  const { page, limit, before, items } = listed;
  const to = (target: number) => hrefOf({ limit, page: target });
  const isWhole = page === 1 && !listed.hasNext;
  const isShort = items.length === 0 || (isWhole && items.length <= SMALLEST_USUAL_LIMIT);
  const limits = isShort ? [] : [...new Set([...USUAL_LIMITS, defaultLimit, limit])];
  return {
    page,
    ...(items.length > 0 && { range: toRange(before + 1, before + items.length) }),
    ...(page > 1 && { first: to(1), previous: to(page - 1) }),
    ...(listed.hasNext && { next: to(page + 1) }),
    sizes: limits
      .toSorted((a, b) => a - b)
      .map((size) => ({
        label: String(size),
        href: hrefOf({ limit: size, page: 1 }),
        current: size === limit,
      })),
  };
}

function toRange(from: number, to: number): string {
  return from === to ? `Item ${toCount(from)}` : `Items ${toCount(from)}–${toCount(to)}`;
}

/** A number as people write it: `1,234`. */
export function toCount(number: number): string {
  return number.toLocaleString('en');
}
