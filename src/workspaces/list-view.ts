import { toItemViews, type ItemView } from './item-view.ts';
import type { ListedPage } from './paging.ts';
import type { SearchResult } from './search.ts';
import { capitalise, toSingular, withArticle } from './shown-text.ts';
import {
  pageParams,
  searchParams,
  toHref,
  type PageParams,
  type QueryParams,
  type SearchParams,
} from './urls.ts';

/** A list and its URLs, independent of the page shown. */
export interface ShownList {
  /** The kind of item, in the plural: `workspaces`. */
  readonly kind: string;
  /** Cloakroom's own path for the list. */
  readonly path: string;
  /** Value of the `back` parameter in every URL for this list. */
  readonly back?: string;
  /** Returns the URL of an item; undefined if the item has no URL. */
  readonly hrefOf: (row: ItemView) => string | undefined;
  /** Text shown if the list is empty. */
  readonly empty: string;
  readonly defaultLimit: number;
}

/** A page of a list, or a search result, as passed to the template. */
export interface ListView {
  readonly kind: string;
  /** The kind of item, in the singular: `workspace`. */
  readonly singular: string;
  /** Position of the first row in the list, counted from 1; absent if the rows are not consecutive. */
  readonly firstNumber?: number;
  /** Description of the part of the list that is shown. */
  readonly place: string;
  readonly rows: readonly (ItemView & { readonly href: string | undefined })[];
  readonly empty: string;
  readonly notice?: {
    readonly text: string;
    readonly action?: { readonly href: string; readonly label: string };
  };
  readonly pagination?: Pagination;
  /** The search form: its label, its text, its hidden fields, and the URL that shows all items again. */
  readonly find: {
    readonly label: string;
    readonly action: string;
    readonly words: string;
    readonly kept: readonly { readonly name: string; readonly value: string }[];
    readonly all?: string;
  };
  /** Path of the list, to which exports append an extension. */
  readonly path: string;
}

/** The links between pages; each is absent if it doesn't apply. */
interface Pagination {
  readonly page: number;
  readonly first?: string;
  readonly previous?: string;
  readonly next?: string;
  /** The page sizes to choose from; none if the page is empty, or if all items fit on the smallest page. */
  readonly sizes: readonly { readonly label: string; readonly href: string; readonly current: boolean }[];
}

/** Maximum number of rows, because a service that ignores `limit` may send more items than a browser can show. */
const MAX_ROWS = 1_000;
/** Maximum distance, in pages, for a *Continue* link. Reaching a more distant page would take too many requests. */
const MAX_CONTINUE_PAGES = 10_000;
const MIN_PAGE_SIZE = 10;
const SIZES = [MIN_PAGE_SIZE, 25, 50, 100];

/** Returns the view of a list page. `requested` is the page number in the URL. */
export function toListView(list: ShownList, listed: ListedPage, requested: number): ListView {
  const hrefOf = (params: PageParams) => toHref(list.path, { ...params, back: list.back });
  const notice = toPageNotice(list.kind, listed, requested, hrefOf);
  const isWhole = listed.page === 1 && listed.next === undefined;
  return {
    ...toCommonView(list, listed, ''),
    rows: toLinkedRows(list, listed.items),
    empty: isWhole ? list.empty : `There are no ${list.kind} on this page.`,
    place: [...toRange(list.kind, listed), ...(isWhole ? [] : [`Page ${listed.page}`])].join(' · '),
    firstNumber: listed.before + 1,
    pagination: toPagination(listed, hrefOf, list.defaultLimit),
    ...(notice !== undefined && { notice }),
  };
}

export function toSearchResultView(list: ShownList, result: SearchResult, search: SearchParams): ListView {
  const { kind, path, back, defaultLimit } = list;
  const { items, before, upTo, nextFrom } = result;
  const isWhole = before === 0 && nextFrom === undefined;
  const counted = `${toCount(upTo)} ${upTo === 1 ? toSingular(kind) : kind}`;
  const range = before === 0 ? `the first ${counted}` : `${kind} ${toCount(before + 1)}–${toCount(upTo)}`;
  const notice = [
    ...(items.length > MAX_ROWS ? [`The first ${toCount(MAX_ROWS)} matches are shown.`] : []),
    ...(nextFrom === undefined ? [] : [`Searched ${range}.`]),
  ].join(' ');
  return {
    ...toCommonView(list, search.origin, search.words),
    rows: toLinkedRows(list, items),
    empty:
      upTo === 0
        ? `No more ${kind} match “${search.words}”.`
        : `No matches for “${search.words}” in ${isWhole ? counted : range}.${nextFrom === undefined ? ' Try other words.' : ''}`,
    place: `${toCount(items.length)} of ${isWhole ? counted : range} ${items.length === 1 ? 'matches' : 'match'} “${search.words}”`,
    ...(notice !== '' && {
      notice: {
        text: notice,
        ...(nextFrom !== undefined && {
          action: {
            href: toHref(path, { ...searchParams({ ...search, from: nextFrom }, defaultLimit), back }),
            label: 'Continue searching',
          },
        }),
      },
    }),
  };
}

/** Returns the fields that list pages and search results share. `page` is the page that *Show all* leads to. */
function toCommonView({ kind, path, back, defaultLimit }: ShownList, page: PageParams, words: string) {
  const all: QueryParams = { ...pageParams(page, defaultLimit), ...(back !== undefined && { back }) };
  return {
    kind,
    singular: toSingular(kind),
    path,
    find: {
      label: `Find ${withArticle(toSingular(kind))}`,
      action: path,
      words,
      kept: Object.entries(all).map(([name, value]) => ({ name, value: String(value) })),
      ...(words !== '' && { all: toHref(path, all) }),
    },
  };
}

function toLinkedRows(list: ShownList, items: readonly unknown[]): ListView['rows'] {
  return toItemViews(items.slice(0, MAX_ROWS)).map((row) => Object.assign(row, { href: list.hrefOf(row) }));
}

function toPageNotice(
  kind: string,
  { reached, page, limit, items }: ListedPage,
  requested: number,
  hrefOf: (params: PageParams) => string,
): ListView['notice'] {
  if (reached === 'last') return { text: `There is no page ${requested}. This is the last page.` };
  if (reached === 'furthest') {
    return {
      text: `Page ${requested} is too far ahead to load in one step. This is page ${page}.`,
      ...(requested - page <= MAX_CONTINUE_PAGES && {
        action: { href: hrefOf({ limit, page: requested }), label: `Continue to page ${requested}` },
      }),
    };
  }
  if (items.length > MAX_ROWS) {
    return {
      text: `The service sent ${toCount(items.length)} ${kind} in one response. The first ${toCount(MAX_ROWS)} are shown.`,
    };
  }
  return undefined;
}

function toPagination(
  { page, limit, items, next }: ListedPage,
  hrefOf: (params: PageParams) => string,
  defaultLimit: number,
): Pagination {
  const isWhole = page === 1 && next === undefined;
  const isShort = items.length === 0 || (isWhole && items.length <= MIN_PAGE_SIZE);
  const sizes = isShort ? [] : [...new Set([...SIZES, defaultLimit, limit])];
  return {
    page,
    ...(page > 1 && { first: hrefOf({ limit, page: 1 }), previous: hrefOf({ limit, page: page - 1 }) }),
    ...(next !== undefined && { next: hrefOf({ limit, page: page + 1 }) }),
    sizes: sizes
      .toSorted((a, b) => a - b)
      .map((size) => ({
        label: String(size),
        href: hrefOf({ limit: size, page: 1 }),
        current: size === limit,
      })),
  };
}

function toRange(kind: string, { before, items }: ListedPage): string[] {
  if (items.length === 0) return [];
  if (items.length === 1) return [`${capitalise(toSingular(kind))} ${toCount(before + 1)}`];
  return [`${capitalise(kind)} ${toCount(before + 1)}–${toCount(before + items.length)}`];
}

/** Formats a number with thousands separators: `1,234`. */
function toCount(number: number): string {
  return number.toLocaleString('en');
}
