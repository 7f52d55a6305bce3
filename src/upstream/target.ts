/**
 * Path of the service's authorization endpoints (docs/local-service.md, 4.1 to 4.3), without a trailing slash. The gateway
 * forwards nothing at or under it.
 */
export const AUTHORIZATION_PATH = '/api/public/v1/authorization/oauth2';

type TargetCheck = 'forward' | 'malformed' | 'not-allowed';

/** Each round decodes one layer of percent-encoding. No client sends more than a few. */
const MAX_ROUNDS = 8;

/**
 * A target that all servers read in the same way: plain names between single slashes, dots only inside a name, and any query.
 */
const PLAIN = /^(?:\/[\w~!$&'()*,:=@-]+(?:\.[\w~!$&'()*,:=@-]+)*)+\/?(?:\?[^\x00-\x20\x7f#]*)?$/; // oxlint-disable-line no-control-regex
const NEAR_AUTHORIZATION = new RegExp(`^${AUTHORIZATION_PATH}`, 'i');

/** `.` or `..`, also to a server that trims white space, or that finds encoded parameters or a query behind it. */
const DOT_SEGMENT = /^[\s+]*\.\.?[\s+]*(?:[;?#]|$)/;
/** The segments of the authorization endpoints, read as loosely. Windows drops dots and spaces at the end of a name. */
const AUTHORIZATION = AUTHORIZATION_PATH.split('/')
  .slice(1)
  .map((name) => new RegExp(`^[\\s+]*${name}[\\s+.]*(?:[;?#]|$)`));

/**
 * Checks a request target (RFC 9112 §3.2) under every reading that a server may give it. It is percent-decoded until nothing
 * changes, with `\` as `/`, and without `;…` in each segment. The target is forwarded exactly as it came. `apiPaths` end in `/`
 * and contain no `%`, `;` or `\`. Takes linear time.
 */
export function checkTarget(target: string, apiPaths: readonly string[]): TargetCheck {
  if (PLAIN.test(target) && !NEAR_AUTHORIZATION.test(target))
    return isUnder(target, apiPaths) ? 'forward' : 'not-allowed';

  const queryAt = target.indexOf('?');
  const path = queryAt < 0 ? target : target.slice(0, queryAt);
  const query = queryAt < 0 ? '' : target.slice(queryAt);
  // Absolute form, authority form, a fragment, or characters that no target may contain (RFC 3986 §2).
  if (!path.startsWith('/') || target.includes('#')) return 'malformed';
  // oxlint-disable-next-line no-control-regex -- this looks for control characters
  if (/[^\x21-\x7e]/.test(path) || /[\x00-\x20\x7f]/.test(query)) return 'malformed';
  return checkPath(path, apiPaths);
}

function checkPath(path: string, apiPaths: readonly string[]): TargetCheck {
  const decoded = untilStable(path, decodeURIComponent);
  const plain = decoded === null ? null : untilStable(decoded, toPlainText);
  if (decoded === null || plain === null || /\p{Cc}/u.test(plain)) return 'malformed';

  const names = toSegments(decoded).map((segment) => segment.split(';', 1)[0]);
  const plainSegments = toSegments(plain);
  if (names.slice(1, -1).includes('') || plainSegments.some((segment) => DOT_SEGMENT.test(segment)))
    return 'malformed';

  return isUnder(path, apiPaths) && !mayBeAuthorization(plainSegments) ? 'forward' : 'not-allowed';
}

/** Whether a path is under an allowed prefix, as it came. No reading changes a prefix, and no dot segment leads out of it. */
function isUnder(path: string, apiPaths: readonly string[]): boolean {
  return apiPaths.some((prefix) => path.startsWith(prefix));
}

function toSegments(path: string): string[] {
  return path.split(/[/\\]/);
}

/** Accents and invisible characters, which a server may drop. */
const INVISIBLE = /[\p{M}\p{DI}]/gu;

/** Repeats `round` until nothing changes. Returns null after too many rounds, or where one fails. */
function untilStable(text: string, round: (text: string) => string): string | null {
  let before = text;
  for (let rounds = 0; rounds < MAX_ROUNDS; rounds += 1) {
    let after: string;
    try {
      after = round(before);
    } catch {
      return null;
    }
    if (after === before) return after;
    before = after;
  }
  return null;
}

/**
 * Replaces characters by those that a server may take them for. These are compatibility forms (fullwidth, small, ligatures),
 * accents, invisible characters, slashes that NFKC keeps, and either case. Decodes an escape that this yields.
 */
function toPlainText(text: string): string {
  // ASCII has no look-alikes. A `%` in it came from one.
  if (/^[^%\x80-\uffff]*$/.test(text)) return text.toLowerCase();
  return (
    text
      .replaceAll(INVISIBLE, '') // here, too: NFKD takes long to order thousands of accents
      .normalize('NFKD')
      .replaceAll(INVISIBLE, '')
      .replaceAll(/[\u2044\u2215]/g, '/')
      .replaceAll('\u2216', '\\')
      .replaceAll(/(?:%[\da-f]{2})+/gi, unescapeOrLeave)
      // Some letters become plain only in upper case, and others only in lower case.
      .toUpperCase()
      .toLowerCase()
  );
}

function unescapeOrLeave(escapes: string): string {
  try {
    return decodeURIComponent(escapes);
  } catch {
    return escapes;
  }
}

/**
 * Whether a server may read this as a path at or under the authorization endpoints. Some remove `;…` up to the next slash
 * before they decode `%2f`, so that any number of segments may disappear behind one with a `;`.
 */
function mayBeAuthorization(segments: readonly string[]): boolean {
  let matched = new Set([0]); // how many of the segments may have matched so far
  const skipping = new Set<number>();
  for (const segment of segments.slice(1)) {
    const next = [...matched, ...skipping]
      .filter((count) => AUTHORIZATION[count]?.test(segment) === true)
      .map((count) => count + 1);
    matched = new Set(next);
    if (matched.has(AUTHORIZATION.length)) return true;
    if (segment.includes(';')) for (const count of next) skipping.add(count);
  }
  return false;
}
