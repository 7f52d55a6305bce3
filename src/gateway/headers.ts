/** Names that belong to one connection only (RFC 9110 §7.6.1), beside those that `Connection` lists. */
const HOP_BY_HOP = [
  'connection',
  'http2-settings',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
];

/** What a browser sends and the service never sees. */
const NEVER_FORWARDED = new Set([
  ...HOP_BY_HOP,
  'authorization',
  'cookie',
  'cookie2',
  'expect', // answered here
  'host', // the service's own takes its place
  'via', // ours takes its place
  'x-request-id', // ours takes its place
  // Who the client is, is not for the client to say:
  'cf-connecting-ip',
  'client-ip',
  'fastly-client-ip',
  'forwarded',
  'true-client-ip',
  'x-client-ip',
  'x-cluster-client-ip',
  'x-original-url',
  'x-real-ip',
  'x-rewrite-url',
]);

/** What the service sends and the browser never sees. */
const NEVER_RETURNED = new Set([...HOP_BY_HOP, 'set-cookie', 'set-cookie2', 'x-request-id']);

/** How this gateway names itself (RFC 9110 §7.6.3). */
const VIA = '1.1 cloakroom';

/** Names and values in turn, as Node and undici keep them. */
export type RawHeaders = readonly string[];

/**
 * The headers of a call to the service: the browser's, less what is never forwarded or what its `Connection` names,
 * plus the token, our request id and `Via`.
 */
export function toServiceHeaders(raw: RawHeaders, accessToken: string, requestId: string): string[] {
  const kept = keep(raw, (name) => !NEVER_FORWARDED.has(name) && !name.startsWith('x-forwarded'));
  kept.push('authorization', `Bearer ${accessToken}`, 'x-request-id', requestId, 'via', VIA);
  return kept;
}

/**
 * The headers of an answer to the browser: the service's, less cookies and hop-by-hop ones. An answer that says
 * nothing of caching is for this browser only, and one that is opened as a page runs nothing: it has our origin.
 */
export function toBrowserHeaders(raw: RawHeaders, requestId: string, serverTiming: string): string[] {
  const via: string[] = [];
  const kept = keep(raw, (name, value) => {
    if (name === 'via') via.push(value);
    return !NEVER_RETURNED.has(name) && name !== 'via';
  });
  if (!has(kept, 'cache-control')) kept.push('cache-control', 'private, no-cache');
  kept.push('content-security-policy', "default-src 'none'; frame-ancestors 'none'; sandbox");
  kept.push('x-content-type-options', 'nosniff');
  kept.push('via', [...via, VIA].join(', '), 'x-request-id', requestId, 'server-timing', serverTiming);
  return kept;
}

function has(raw: RawHeaders, name: string): boolean {
  return raw.some((entry, index) => index % 2 === 0 && entry.toLowerCase() === name);
}

function keep(raw: RawHeaders, isKept: (name: string, value: string) => boolean): string[] {
  const named = connectionNamed(raw);
  const kept: string[] = [];
  for (let index = 0; index + 1 < raw.length; index += 2) {
    const name = raw[index] ?? '';
    const value = raw[index + 1] ?? '';
    const plain = toPlainName(name);
    if (!named.has(plain) && isKept(plain, value)) kept.push(name, value);
  }
  return kept;
}

function connectionNamed(raw: RawHeaders): ReadonlySet<string> {
  const named = new Set<string>();
  for (let index = 0; index + 1 < raw.length; index += 2) {
    if (raw[index]?.toLowerCase() !== 'connection') continue;
    for (const token of (raw[index + 1] ?? '').split(',')) named.add(toPlainName(token.trim()));
  }
  return named;
}

/** Some servers read `_` and `.` as `-`: so that neither spells a name past these rules. */
function toPlainName(name: string): string {
  return name.toLowerCase().replaceAll(/[_.]/g, '-');
}
