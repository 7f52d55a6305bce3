import type { RequestNotes } from '../platform/request-notes.ts';
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
  { requestId, trace }: Pick<RequestNotes, 'requestId' | 'trace'>,
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

/**
 * The headers of an answer to the browser: the service's, less cookies, hop-by-hop ones and what acts on more than the
 * answer. An answer that says nothing of caching is for this browser only, and one that is opened as a page runs
 * nothing: it has our origin. `ours` is what every answer of this gateway says, name and value in turn.
 */
export function toBrowserHeaders(
  raw: RawHeaders,
  requestId: string,
  serverTiming: string,
  ours: RawHeaders = [],
): string[] {
  const named = connectionNamed(raw);
  const kept: string[] = [];
  let via = '';
  let saysCaching = false;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? '';
    const value = raw[index + 1] ?? '';
    if (named?.has(toPlainName(name)) === true) continue;
    if (isReturned(name)) {
      kept.push(name, value);
      saysCaching ||= isName(name, 'cache-control') && value !== '';
    } else if (isName(name, 'via')) via += `${value}, `;
  }
  if (!saysCaching) kept.push('cache-control', 'private, no-cache');
  kept.push('content-security-policy', "default-src 'none'; frame-ancestors 'none'; sandbox");
  kept.push('x-content-type-options', 'nosniff');
  kept.push('via', via + VIA, 'x-request-id', requestId, 'server-timing', serverTiming, ...ours);
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
