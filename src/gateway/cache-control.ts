import { createRecentValues } from '../recent-values.ts';
import type { RecentValues } from '../recent-values.ts';

/** Directives that let a shared cache store a response, or overrule one that forbids it (RFC 9111 §5.2.2). */
const SHARED = new Set(['public', 's-maxage', 'proxy-revalidate', 'must-understand']);
/**
 * One element of a `Cache-Control` list: a directive, or nothing (RFC 9110 §5.6.1). No two neighbours in it match the same
 * characters, so that it reads any field in linear time.
 */
const ELEMENT =
  /[ \t]*(?:([\w!#$%&'*+.^`|~-]+)(=(?:[\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*"))?[ \t]*)?(?:,|$)/gy;

/** A service sends few different fields. To read each anew takes 4 % of a request. */
const cacheControls = createRecentValues<string, string>(64);
const varies = createRecentValues<string, string>(64);

/** For a response without `Cache-Control` and `Expires`. */
const DEFAULT_CACHE_CONTROL = 'private, no-cache';
/** For a list that recipients may read in two ways: a `no-store` may be meant by it. */
const UNREADABLE_CACHE_CONTROL = 'private, no-store';

/**
 * Returns the `Cache-Control` of a response to one user. The service may rely on `Authorization` to keep it out of shared
 * caches (RFC 9111 §3.5). This gateway turns `Authorization` into a cookie, so it says `private` itself.
 *
 * @param said the values of the service's `Cache-Control` fields, in order
 * @param hasExpires whether the service sent `Expires`
 */
export function toPrivateCacheControl(said: readonly string[], hasExpires: boolean): string {
  const list = said.join(',');
  if (/^[ \t,]*$/.test(list)) return hasExpires ? 'private' : DEFAULT_CACHE_CONTROL;
  return recall(cacheControls, list, withPrivate);
}

function withPrivate(list: string): string {
  const kept: string[] = [];
  let isPrivate = false;
  let end = 0;
  for (const [element, name = '', argument = ''] of list.matchAll(ELEMENT)) {
    end += element.length;
    const directive = name.toLowerCase();
    if (name === '' || SHARED.has(directive)) continue;
    // `private="x-field"` keeps that field alone private.
    if (directive === 'private' && argument !== '') continue;
    isPrivate ||= (directive === 'private' || directive === 'no-store') && argument === '';
    kept.push(name + argument);
  }
  if (end < list.length) return UNREADABLE_CACHE_CONTROL;
  if (!isPrivate) kept.unshift('private');
  return kept.join(', ');
}

/**
 * Returns the `Vary` of a response that the session cookie decides (RFC 9110 §12.5.5).
 *
 * @param said the values of the service's `Vary` fields, in order
 */
export function toVary(said: readonly string[]): string {
  if (said.length === 0) return 'Cookie';
  return recall(varies, said.join(','), withCookie);
}

function withCookie(list: string): string {
  const names = list.split(',').map((name) => name.trim());
  if (names.includes('*')) return '*';
  return [...names.filter((name) => name !== '' && name.toLowerCase() !== 'cookie'), 'Cookie'].join(', ');
}

function recall(
  known: RecentValues<string, string>,
  list: string,
  compute: (list: string) => string,
): string {
  const before = known.get(list);
  if (before !== undefined) return before;
  const value = compute(list);
  known.set(list, value);
  return value;
}
