import { toPageAddress } from './pagination.ts';
import type { PageAddress } from './pagination.ts';
import { WORKSPACES } from './list-paths.ts';

/** A place in a list, to come back to. */
export interface WayBack {
  readonly href: string;
  readonly label: string;
}

/** What stands in the query of an address; what is not defined is left out. */
export interface Query {
  readonly [name: string]: string | number | undefined;
}

const LONGEST_WORDS = 200;

/** A path of ours with a query of what is defined. */
export function toHref(path: string, query: Query): string {
  const parts = Object.entries(query).flatMap(([name, value]) =>
    value === undefined || value === '' ? [] : [`${name}=${encodeURIComponent(value)}`],
  );
  return parts.length === 0 ? path : `${path}?${parts.join('&')}`;
}

/** What a search in a list looks for, and from where on. */
export interface FindAddress {
  readonly words: string;
  /** Counted from 1, in the pages that a search asks for. */
  readonly from: number;
  /** The page that was shown before: to show all again leads back there. */
  readonly cameFrom: PageAddress;
}

/** What the address of a list asks to be found; null where it asks for nothing. */
export function toFindAddress(
  query: { readonly [name: string]: unknown },
  defaultLimit: number,
): FindAddress | null {
  const { find, from } = query;
  if (typeof find !== 'string' || find.trim() === '') return null;
  const words = find.trim().slice(0, LONGEST_WORDS);
  return {
    words: words.replace(/[\uD800-\uDBFF]$/, ''), // half a surrogate pair has no place in an address
    from: toPageAddress({ page: from }, 1).page,
    cameFrom: toPageAddress(query, defaultLimit),
  };
}

/** The query of a place in a list: short enough to go along in the address of another page, empty for where it begins. */
export function toPlaceQuery(place: PageAddress | FindAddress, defaultLimit: number): string {
  const query = 'words' in place ? toFindQuery(place, defaultLimit) : toPageQuery(place, defaultLimit);
  return toHref('', query).slice(1);
}

/** What the address of a page of a list says: nothing of the page where it begins. */
export function toPageQuery({ limit, page }: PageAddress, defaultLimit: number): Query {
  return page === 1 && limit === defaultLimit ? {} : { limit, page };
}

/** The same of what is found in it. */
export function toFindQuery({ words, from, cameFrom }: FindAddress, defaultLimit: number): Query {
  return { find: words, from: from === 1 ? undefined : from, ...toPageQuery(cameFrom, defaultLimit) };
}

/** The way back that an address remembers in `back`; made anew from its parts, so that it leads nowhere else. */
export function toWayBack(query: { readonly [name: string]: unknown }, defaultLimit: number): WayBack {
  const { back } = query;
  const asked = Object.fromEntries(new URLSearchParams(typeof back === 'string' ? back : ''));
  const place = toFindAddress(asked, defaultLimit) ?? toPageAddress(asked, defaultLimit);
  const kept = toPlaceQuery(place, defaultLimit);
  return { href: kept === '' ? WORKSPACES.address : `${WORKSPACES.address}?${kept}`, label: toLabel(place) };
}

function toLabel(place: PageAddress | FindAddress): string {
  if ('words' in place) return `Workspaces that match “${place.words}”`;
  return place.page === 1 ? 'Workspaces' : `Workspaces, page ${place.page}`;
}
