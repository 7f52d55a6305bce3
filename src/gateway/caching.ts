/** Directives that let a shared cache store a response, or overrule one that forbids it (RFC 9111 §5.2.2). */
const SHARED = new Set(['public', 's-maxage', 'proxy-revalidate', 'must-understand']);
/**
 * One element of a `Cache-Control` list: a directive, or nothing (RFC 9110 §5.6.1). No two neighbours in it match the same
 * characters, so that it reads any field in linear time.
 */
const ELEMENT =
  /[ \t]*(?:([\w!#$%&'*+.^`|~-]+)(=(?:[\w!#$%&'*+.^`|~-]+|"(?:[^"\\]|\\.)*"))?[ \t]*)?(?:,|$)/gy;

/** For a response whose service says nothing of caching, or nothing that can be read in one way only. */
const UNSAID = 'private, no-cache';

/**
 * Returns the `Cache-Control` of a response to one user. The service may rely on `Authorization` to keep it out of shared
 * caches (RFC 9111 §3.5). This gateway turns `Authorization` into a cookie, so it says `private` itself.
 *
 * @param said the values of the service's `Cache-Control` fields, in order
 * @param hasExpires whether the service sent `Expires`
 */
export function toPrivateCacheControl(said: readonly string[], hasExpires: boolean): string {
  const list = said.join(',');
  if (/^[ \t,]*$/.test(list)) return hasExpires ? 'private' : UNSAID;
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
  if (end < list.length) return UNSAID;
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
  const names = said.flatMap((value) => value.split(',')).map((name) => name.trim());
  if (names.includes('*')) return '*';
  return [...names.filter((name) => name !== '' && name.toLowerCase() !== 'cookie'), 'Cookie'].join(', ');
}
