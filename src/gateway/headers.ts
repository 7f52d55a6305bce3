import type { RequestContext } from '../http/request-context.ts';
import { toPrivateCacheControl, toVary } from './cache-control.ts';
import { isForwarded, isReturned, toPlainName } from './header-names.ts';

/** How this gateway names itself (RFC 9110 §7.6.3). */
const VIA = '1.1 cloakroom';

/** Names and values in turn, as Node and undici keep them. */
export type RawHeaders = readonly string[];

/**
 * The headers of a call to the service: the browser's, less what is never forwarded or what its `Connection` names,
 * plus the token, our request id, `Via`, and the trace that it belongs to.
 */
export function toServiceHeaders(
  raw: RawHeaders,
  accessToken: string,
  { requestId, trace }: Pick<RequestContext, 'requestId' | 'trace'>,
): string[] {
  const named = connectionNamed(raw);
  const kept: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? '';
    if (isForwarded(name) && named?.has(toPlainName(name)) !== true) kept.push(name, raw[index + 1] ?? '');
  }
  kept.push('authorization', `Bearer ${accessToken}`, 'x-request-id', requestId, 'via', VIA);
  if (trace !== null) {
    kept.push('traceparent', trace.traceparent);
    if (trace.tracestate !== undefined) kept.push('tracestate', trace.tracestate);
  }
  return kept;
}

/** What the gateway adds to the headers of a response. */
export interface OwnHeaders {
  readonly requestId: string;
  readonly serverTiming: string;
  /** Whether the response sets a cookie. Then no cache may store it. */
  readonly setsCookie: boolean;
  /** Headers of every response, name and value in turn. */
  readonly always: RawHeaders;
}

/**
 * Returns the headers of a response to the browser: the service's, except cookies, hop-by-hop headers and those that act
 * on more than the response. No shared cache may store it (contract, section 4). Nothing in it runs when it is opened as
 * a page, since that page would have our origin.
 */
export function toBrowserHeaders(raw: RawHeaders, own: OwnHeaders): string[] {
  const named = connectionNamed(raw);
  const kept: string[] = [];
  let via = '';
  const cacheControl: string[] = [];
  const vary: string[] = [];
  let hasExpires = false;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? '';
    const value = raw[index + 1] ?? '';
    if (named?.has(toPlainName(name)) === true) continue;
    if (isReturned(name)) {
      kept.push(name, value);
      hasExpires ||= isName(name, 'expires');
    } else if (isName(name, 'cache-control')) cacheControl.push(value);
    else if (isName(name, 'vary')) vary.push(value);
    else if (isName(name, 'via')) via += `${value}, `;
  }
  const caching = own.setsCookie ? 'private, no-store' : toPrivateCacheControl(cacheControl, hasExpires);
  kept.push('cache-control', caching, 'vary', toVary(vary));
  kept.push('content-security-policy', "default-src 'none'; frame-ancestors 'none'; sandbox");
  kept.push('x-content-type-options', 'nosniff');
  kept.push('via', via + VIA, 'x-request-id', own.requestId, 'server-timing', own.serverTiming);
  kept.push(...own.always);
  return kept;
}

/**
 * Whether an answer came in another coding than `chunked` (RFC 9112 §6.1): that belongs to the connection, and whoever
 * takes it off without knowing it loses it.
 */
export function hasOtherCoding(raw: RawHeaders): boolean {
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if (isName(raw[index] ?? '', 'transfer-encoding') && raw[index + 1]?.trim().toLowerCase() !== 'chunked')
      return true;
  }
  return false;
}

/** A 204 has no length, whatever the service says (RFC 9110 §8.6). */
export function withoutLength(raw: RawHeaders): RawHeaders {
  return raw.filter((_, index) => !isName(raw[index - (index % 2)] ?? '', 'content-length'));
}

/** What `Connection` lists (RFC 9110 §7.6.1), in plain names; null where that is nothing, as nearly always. */
function connectionNamed(raw: RawHeaders): ReadonlySet<string> | null {
  let named: Set<string> | null = null;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if (!isName(raw[index] ?? '', 'connection')) continue;
    const value = raw[index + 1] ?? '';
    if (value === 'keep-alive' || value === 'close') continue; // never pass anyway
    named ??= new Set();
    for (const option of value.split(',')) named.add(toPlainName(option.trim()));
  }
  return named;
}

/** Whether a name is this one, which is in lower case. */
function isName(name: string, wanted: string): boolean {
  return name.length === wanted.length && name.toLowerCase() === wanted;
}
