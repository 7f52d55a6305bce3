import { toPageAddress } from './pagination.ts';
import type { PageAddress } from './pagination.ts';
import { WORKSPACES } from './lists.ts';

/** A place in a list, to come back to. */
export interface WayBack {
  readonly href: string;
  readonly label: string;
}

interface Query {
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

/** What the address of a list asks to be found; empty where it asks for nothing. */
export function toFindWords(query: { readonly [name: string]: unknown }): string {
  const { find } = query;
  // Half a surrogate pair has no place in an address.
  return typeof find === 'string'
    ? find
        .trim()
        .slice(0, LONGEST_WORDS)
        .replace(/[\uD800-\uDBFF]$/, '')
    : '';
}

/** The query of a place in the list of workspaces, short enough to go along in the address of another page. */
export function toPlaceQuery({ limit, page }: PageAddress, find: string, defaultLimit: number): string {
  if (find !== '') return toHref('', { find, from: page === 1 ? undefined : page }).slice(1);
  if (page === 1 && limit === defaultLimit) return '';
  return toHref('', { limit, page }).slice(1);
}

/** The way back that an address remembers in `back`; made anew from its parts, so that it leads nowhere else. */
export function toWayBack(query: { readonly [name: string]: unknown }, defaultLimit: number): WayBack {
  const { back } = query;
  const place = Object.fromEntries(new URLSearchParams(typeof back === 'string' ? back : ''));
  const find = toFindWords(place);
  if (find !== '') {
    const { page } = toPageAddress({ page: place['from'] }, defaultLimit);
    const label = `Workspaces that match “${find}”`;
    return { href: toHref(WORKSPACES.address, { find, from: page === 1 ? undefined : page }), label };
  }
  const address = toPageAddress(place, defaultLimit);
  const isStart = address.page === 1 && address.limit === defaultLimit;
  return {
    href: isStart ? WORKSPACES.address : toHref(WORKSPACES.address, { ...address }),
    label: address.page === 1 ? 'Workspaces' : `Workspaces, page ${address.page}`,
  };
}
