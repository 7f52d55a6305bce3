import { toFindQuery, toHref, toPageQuery } from './urls.ts';
import type { FindAddress, Query } from './urls.ts';
import type { Found } from './search.ts';
import { toItemRows } from './item-row.ts';
import type { ItemRow } from './item-row.ts';
import type { ListedPage } from './page-by-number.ts';
import { toCount, toPagination } from './pagination.ts';
import type { PageAddress, Pagination } from './pagination.ts';

interface Link {
  readonly href: string;
  readonly label: string;
}

/** Something to know about the page, with a way on where there is one. */
interface Notice {
  readonly text: string;
  readonly action?: Link;
}

/** A row, and where it leads; many kinds of item lead nowhere. */
type LinkedRow = ItemRow & { readonly href?: string };

/** A list, or what was found in one, as a page shows it. */
export interface ListView {
  /** What it lists, in the plural: `workspaces`. */
  readonly kind: string;
  /** The number of the first item in the whole list, counted from 1; absent where the rows are no stretch of it. */
  readonly firstNumber?: number;
  /** Which part of the list this is, in words; empty where it is no part. */
  readonly place: string;
  readonly rows: readonly LinkedRow[];
  readonly empty: string;
  readonly notice?: Notice;
  readonly pagination?: Pagination;
  /** The form that finds: what is in it, what goes with it unseen, and where all is shown again. */
  readonly find: {
    readonly action: string;
    readonly words: string;
    readonly kept: readonly { readonly name: string; readonly value: string }[];
    readonly all?: string;
  };
  /** Path of the list, for its exports. */
  readonly address: string;
}

/** A list and how its pages lead on. */
export interface ShownList {
  readonly kind: string;
  /** Path of ours. */
  readonly address: string;
  /** Goes along in every address of this list. */
  readonly back?: string;
  /** Where an item leads; undefined where it leads nowhere. */
  readonly hrefOf: (row: ItemRow) => string | undefined;
  /** What an empty list says. */
  readonly empty: string;
  readonly defaultLimit: number;
}

/** A page from a service that ignores `limit` stays a page that a browser can show. */
const MOST_ROWS = 1_000;
/** A page further on than this takes so many steps that a link towards it leads nowhere in earnest. */
const LONGEST_WAY = 10_000;

/** One page of a list; `asked` is the page in the address. */
export function toPageView(list: ShownList, listed: ListedPage, asked: number): ListView {
  const hrefOf = (address: PageAddress) => toHref(list.address, { ...address, back: list.back });
  const pagination = toPagination(listed, hrefOf, list.defaultLimit);
  const notice = toNotice(listed, asked, hrefOf);
  const isWhole = listed.page === 1 && !listed.hasNext;
  return {
    ...toFrame(list, listed, ''),
    rows: toLinkedRows(list, listed.items),
    empty: isWhole ? list.empty : 'There is nothing on this page.',
    place: toPlace(pagination),
    firstNumber: listed.before + 1,
    pagination,
    ...(notice !== undefined && { notice }),
  };
}

/** What was found in a list. */
export function toFoundView(list: ShownList, found: Found, find: FindAddress): ListView {
  const { words, cameFrom } = find;
  const { items, before, upTo, nextFrom } = found;
  const looked =
    before === 0 ? `the first ${toCount(upTo)}` : `numbers ${toCount(before + 1)} to ${toCount(upTo)}`;
  const matches = `${toCount(items.length)} ${items.length === 1 ? 'matches' : 'match'} “${words}”`;
  const extent = nextFrom === undefined && before === 0 ? `all ${toCount(upTo)}` : looked;
  const isCut = items.length > MOST_ROWS;
  const texts = [
    ...(isCut ? [`The first ${toCount(MOST_ROWS)} of them are shown.`] : []),
    ...(nextFrom === undefined ? [] : [`So far only ${looked} ${list.kind} were looked through.`]),
  ];
  const notice: Notice = {
    text: texts.join(' '),
    ...(nextFrom !== undefined && {
      action: {
        href: toHref(list.address, {
          ...toFindQuery({ ...find, from: nextFrom }, list.defaultLimit),
          back: list.back,
        }),
        label: 'Look further',
      },
    }),
  };
  return {
    ...toFrame(list, cameFrom, words),
    rows: toLinkedRows(list, items),
    empty: `Nothing matches “${words}”${upTo === 0 ? `: there are no more ${list.kind}` : ` in ${extent} ${list.kind}`}.`,
    place: upTo === 0 ? '' : `${matches} in ${extent}`,
    ...(texts.length > 0 && { notice }),
  };
}

/** What a list and what was found in it have in common; `page` is where all is shown again. */
function toFrame({ kind, address, back, defaultLimit }: ShownList, page: PageAddress, words: string) {
  const all: Query = { ...toPageQuery(page, defaultLimit), ...(back !== undefined && { back }) };
  return {
    kind,
    address,
    find: {
      action: address,
      words,
      kept: Object.entries(all).map(([name, value]) => ({ name, value: String(value) })),
      ...(words !== '' && { all: toHref(address, all) }),
    },
  };
}

/** A kind as a name: with a capital letter. */
export function toLabel(kind: string): string {
  return kind.charAt(0).toUpperCase() + kind.slice(1);
}

/** Only those that are shown share what a page can hold. */
function toLinkedRows(list: ShownList, items: readonly unknown[]): LinkedRow[] {
  return toItemRows(items.slice(0, MOST_ROWS)).map((row) => toLinkedRow(list, row));
}

function toLinkedRow(list: ShownList, row: ItemRow): LinkedRow {
  const href = list.hrefOf(row);
  return href === undefined ? row : { ...row, href };
}

function toPlace({ range, page, previous, next }: Pagination): string {
  const hasOthers = previous !== undefined || next !== undefined;
  return [...(range === undefined ? [] : [range]), ...(hasOthers ? [`Page ${page}`] : [])].join(' · ');
}

function toNotice(
  { reached, page, limit, items }: ListedPage,
  asked: number,
  hrefOf: (address: PageAddress) => string,
): Notice | undefined {
  if (reached === 'last') return { text: `There is no page ${asked}: this is the last one.` };
  if (reached === 'furthest') {
    return {
      text: `Page ${asked} is too far for one step. This is page ${page}.`,
      ...(asked - page <= LONGEST_WAY && {
        action: { href: hrefOf({ limit, page: asked }), label: `Go on towards page ${asked}` },
      }),
    };
  }
  if (items.length > MOST_ROWS) {
    return {
      text: `The service gave ${toCount(items.length)} items at once: the first ${toCount(MOST_ROWS)} are shown.`,
    };
  }
  return undefined;
}
