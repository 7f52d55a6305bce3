import type { RequestContext } from '../http/request-context.ts';

/** Alternating names and values, the format that Node and undici use. */
export type RawHeaders = readonly string[];

/** The gateway's entry in `Via` (RFC 9110 §7.6.3). */
const VIA = '1.1 cloakroom';

/** Headers that apply to a single connection (RFC 9110 §7.6.1), in addition to those listed in `Connection`. */
const HOP_BY_HOP = `
  close connection http2-settings keep-alive te trailer transfer-encoding upgrade
  proxy-authenticate proxy-authentication-info proxy-authorization proxy-connection
`;

const NEVER_FORWARDED = new Set([
  ...words(HOP_BY_HOP),
  ...words('authorization cookie cookie2'),
  'expect', // Node responds to this header
  'host', // undici sends the service's host
  ...words('via x-request-id'), // replaced by the gateway's own
  ...words('traceparent tracestate'), // forwarded separately if they are valid
  // Client address and TLS details, which only a trusted reverse proxy may set:
  ...words(`
    cf-connecting-ip cf-connecting-ipv6 cf-ipcountry cf-pseudo-ipv4 cf-visitor client-cert client-cert-chain client-ip
    fastly-client-ip fastly-ssl fly-client-ip forwarded forwarded-for forwarded-for-ip front-end-https incap-client-ip
    remote-addr remote-user true-client-ip wl-proxy-client-ip wl-proxy-ssl x-appengine-user-ip x-arr-ssl
    x-appengine-remote-addr x-azure-clientip x-azure-socketip x-client-cert x-client-ip x-cluster-client-ip x-envoy-external-address
    x-envoy-internal x-forward-for x-nf-client-connection-ip x-originating-ip x-proxyuser-ip x-real-ip x-remote-addr x-remote-ip x-remote-user
    x-scheme x-true-client-ip x-url-scheme x-vercel-forwarded-for
  `),
  // Headers that can redirect the request to another host or path:
  ...words('x-envoy-original-path x-host x-http-host-override x-rewrite-url'),
]);
/** Other headers that are never forwarded. A CGI program would treat `Proxy` as `HTTP_PROXY` (httpoxy). */
const NEVER_FORWARDED_PATTERN = /^(?:proxy(?:-|$)|x-forwarded|x-original-|(?:x-)?ssl-client-|x-amzn-mtls-)/;

/** Headers from the service that are never sent to clients. docs/decisions/0007 gives the reason for each. */
const NEVER_RETURNED = new Set([
  ...words(HOP_BY_HOP),
  ...words('set-cookie set-cookie2'),
  ...words('cache-control vary via x-content-type-options x-request-id'), // replaced by the gateway's own
  // Headers that a browser applies to the entire origin:
  ...words(`
    accept-ch alt-svc clear-site-data expect-ct nel public-key-pins public-key-pins-report-only report-to
    sec-session-registration secure-session-registration service-worker-allowed set-login strict-transport-security
  `),
  // Headers that a reverse proxy in front of Cloakroom would obey:
  ...words(`
    cdn-cache-control edge-control surrogate-control x-accel-expires x-accel-redirect
    x-envoy-immediate-health-check-fail x-lighttpd-send-file x-litespeed-cache-control x-litespeed-location
    x-reproxy-url x-sendfile x-sendfile2
  `),
]);
/** Other headers that are never sent to clients. Other sites must not read responses, even if the service would let them. */
const NEVER_RETURNED_PATTERN = /^access-control-|-cdn-cache-control$/;

const isForwarded = createNameRule(
  (plain, name) =>
    !NEVER_FORWARDED.has(plain) &&
    !NEVER_FORWARDED_PATTERN.test(plain) &&
    // Some servers accept `Content_Length` as the length.
    (!plain.startsWith('content-') || plain === name.toLowerCase()),
);
const isReturned = createNameRule(
  (plain) => !NEVER_RETURNED.has(plain) && !NEVER_RETURNED_PATTERN.test(plain),
);

/**
 * Returns the headers for an upstream request: the client's headers, then the token, the request id, `Via` and the trace. Omits client
 * headers that are never forwarded or that `Connection` lists.
 */
export function toUpstreamHeaders(
  raw: RawHeaders,
  accessToken: string,
  { requestId, trace }: Pick<RequestContext, 'requestId' | 'trace'>,
): string[] {
  const named = namedByConnection(raw);
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

/** Values for the headers that the gateway adds to a response. */
export interface OwnHeaders {
  readonly requestId: string;
  readonly serverTiming: string;
  /** Whether the response sets a cookie. Caches must not store such a response. */
  readonly setsCookie: boolean;
  /** Headers for every response, as alternating names and values. */
  readonly always: RawHeaders;
}

/**
 * Returns the headers for a response to the client. Omits the service's cookies, hop-by-hop headers, and headers whose effect goes beyond
 * the response. Keeps the response out of shared caches (docs/decisions/0007). Prevents a response that is opened as a page from running
 * scripts in Cloakroom's origin.
 */
export function toResponseHeaders(raw: RawHeaders, own: OwnHeaders): string[] {
  const named = namedByConnection(raw);
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

/** Returns whether a response has a transfer coding that the gateway can't decode: any except `chunked` (RFC 9112 §6.1). */
export function hasUnsupportedCoding(raw: RawHeaders): boolean {
  return raw.some(
    (name, index) =>
      index % 2 === 0 &&
      isName(name, 'transfer-encoding') &&
      raw[index + 1]?.trim().toLowerCase() !== 'chunked',
  );
}

/** Removes `Content-Length`, which a 204 must not have (RFC 9110 §8.6). */
export function withoutContentLength(raw: RawHeaders): RawHeaders {
  return raw.filter((_, index) => !isName(raw[index - (index % 2)] ?? '', 'content-length'));
}

/** Returns the plain names listed in `Connection` (RFC 9110 §7.6.1), or null if there are none. */
function namedByConnection(raw: RawHeaders): ReadonlySet<string> | null {
  let named: Set<string> | null = null;
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if (!isName(raw[index] ?? '', 'connection')) continue;
    const value = raw[index + 1] ?? '';
    if (value === 'keep-alive' || value === 'close') continue; // never forwarded anyway
    named ??= new Set();
    for (const option of value.split(',')) named.add(toPlainName(option.trim()));
  }
  return named;
}

function isName(name: string, lowerCase: string): boolean {
  return name.length === lowerCase.length && name.toLowerCase() === lowerCase;
}

/**
 * Lower-cases a name and replaces `_`, `.` and other punctuation with `-`, as some servers do, so that no spelling evades a
 * rule.
 */
function toPlainName(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z\d]/g, '-');
}

function createNameRule(rule: (plain: string, name: string) => boolean): (name: string) => boolean {
  return memoize((name) => rule(toPlainName(name), name));
}

const MAX_CACHED_RESULTS = 500;
const MAX_CACHED_LENGTH = 200;

/**
 * Caches results for short strings, because most requests use the same few strings. Clears the cache when it is full. Each request needs
 * about 35 lookups, which take less CPU time in a plain Map than in an LRU cache.
 */
function memoize<T>(compute: (text: string) => T): (text: string) => T {
  const results = new Map<string, T>();
  return (text) => {
    const cached = results.get(text);
    if (cached !== undefined) return cached;
    const result = compute(text);
    if (text.length > MAX_CACHED_LENGTH) return result;
    if (results.size === MAX_CACHED_RESULTS) results.clear();
    results.set(text, result);
    return result;
  };
}

function words(text: string): string[] {
  return text.trim().split(/\s+/);
}

/** Directives that let a shared cache store a response, or that override a directive forbidding it (RFC 9111 §5.2.2). */
const SHARED = new Set(['public', 's-maxage', 'proxy-revalidate', 'must-understand']);
/**
 * One element of a `Cache-Control` list: a directive, or nothing (RFC 9110 §5.6.1). No two adjacent parts of the pattern can match the same
 * characters, so matching takes linear time.
 */
const ELEMENT =
  /[ \t]*(?:([\w!#$%&'*+.^`|~-]+)(=(?:[\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*"))?[ \t]*)?(?:,|$)/gy;
/** The `Cache-Control` for a response that has neither `Cache-Control` nor `Expires`. */
const DEFAULT_CACHE_CONTROL = 'private, no-cache';
/** Replaces a malformed `Cache-Control`, which caches may interpret in different ways, for example as `no-store`. */
const UNREADABLE_CACHE_CONTROL = 'private, no-store';

/**
 * Returns the `Cache-Control` for a response to one user. The service may rely on `Authorization` to keep the response out of shared caches
 * (RFC 9111 §3.5). Clients send a cookie instead of `Authorization`, so the gateway adds `private`.
 *
 * @param fields the values of the service's `Cache-Control` fields, in order
 * @param hasExpires whether the service sent `Expires`
 */
export function toPrivateCacheControl(fields: readonly string[], hasExpires: boolean): string {
  const list = fields.join(',');
  if (/^[ \t,]*$/.test(list)) return hasExpires ? 'private' : DEFAULT_CACHE_CONTROL;
  return withPrivate(list);
}

/**
 * Removes the directives that let a shared cache store a response, and adds `private`. Results are cached, because parsing a
 * list takes 4% of the CPU time for a request.
 */
const withPrivate = memoize((list) => {
  const kept: string[] = [];
  let isPrivate = false;
  let end = 0;
  for (const [element, name = '', argument = ''] of list.matchAll(ELEMENT)) {
    end += element.length;
    const directive = name.toLowerCase();
    if (name === '' || SHARED.has(directive)) continue;
    // `private="x-field"` keeps only that field private.
    if (directive === 'private' && argument !== '') continue;
    isPrivate ||= (directive === 'private' || directive === 'no-store') && argument === '';
    kept.push(name + argument);
  }
  if (end < list.length) return UNREADABLE_CACHE_CONTROL;
  if (!isPrivate) kept.unshift('private');
  return kept.join(', ');
});

/**
 * Returns the `Vary` header for a response that depends on the session cookie (RFC 9110 §12.5.5).
 *
 * @param fields the values of the service's `Vary` fields, in order
 */
export function toVary(fields: readonly string[]): string {
  if (fields.length === 0) return 'Cookie';
  return withCookie(fields.join(','));
}

const withCookie = memoize((list) => {
  const names = list.split(',').map((name) => name.trim());
  if (names.includes('*')) return '*';
  return [...names.filter((name) => name !== '' && name.toLowerCase() !== 'cookie'), 'Cookie'].join(', ');
});
