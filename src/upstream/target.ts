/**
 * Path of the service's authorization endpoints (docs/local-service.md, 4.1 to 4.3), without a trailing slash. The gateway never forwards
 * requests to this path or to paths under it.
 */
export const AUTHORIZATION_PATH = '/api/public/v1/authorization/oauth2';

type TargetCheck = 'forward' | 'malformed' | 'not-allowed';

/** Maximum number of rounds. Each round decodes one layer of percent-encoding, and real clients send at most a few layers. */
const MAX_ROUNDS = 8;

/** A target that all servers interpret alike: plain names between single slashes, dots only inside a name, and any query. */
const PLAIN = /^(?:\/[\w~!$&'()*,:=@-]+(?:\.[\w~!$&'()*,:=@-]+)*)+\/?(?:\?[^\x00-\x20\x7f#]*)?$/; // oxlint-disable-line no-control-regex
const NEAR_AUTHORIZATION = new RegExp(`^${AUTHORIZATION_PATH}`, 'i');

/** A segment that a server may read as `.` or `..`, because it trims white space or finds encoded parameters after the dots. */
const DOT_SEGMENT = /^[\s+]*\.\.?[\s+]*(?:[;?#]|$)/;
/** The segments of the authorization path, matched as loosely as dot segments. Windows drops dots and spaces at the end of a name. */
const AUTHORIZATION = AUTHORIZATION_PATH.split('/')
  .slice(1)
  .map((name) => new RegExp(`^[\\s+]*${name}[\\s+.]*(?:[;?#]|$)`));

/**
 * Checks a request target (RFC 9112 §3.2) under every interpretation that a server may give it. A server may percent-decode the target
 * repeatedly, read `\` as `/`, and remove `;…` from each segment. The target itself is forwarded unchanged. `apiPaths` end in `/` and
 * contain no `%`, `;` or `\`. Takes linear time.
 */
export function checkTarget(target: string, apiPaths: readonly string[]): TargetCheck {
  if (PLAIN.test(target) && !NEAR_AUTHORIZATION.test(target))
    return isUnder(target, apiPaths) ? 'forward' : 'not-allowed';

  const queryAt = target.indexOf('?');
  const path = queryAt < 0 ? target : target.slice(0, queryAt);
  const query = queryAt < 0 ? '' : target.slice(queryAt);
  // Refuse the absolute and authority forms, fragments, and characters not allowed in a target (RFC 3986 §2).
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

/**
 * Returns whether a path, exactly as received, is under an allowed prefix. A prefix contains nothing that a server could decode. Dot
 * segments, which could lead out of a prefix, have already been refused.
 */
function isUnder(path: string, apiPaths: readonly string[]): boolean {
  return apiPaths.some((prefix) => path.startsWith(prefix));
}

function toSegments(path: string): string[] {
  return path.split(/[/\\]/);
}

/** Combining marks and invisible characters, which a server may drop. */
const INVISIBLE = /[\p{M}\p{DI}]/gu;

/** Repeats `round` until the text stops changing. Returns null after too many rounds, or if a round throws. */
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
 * Normalises characters as a server might. Replaces compatibility forms (fullwidth, small, ligatures) and slash look-alikes that NFKD
 * keeps. Drops accents and invisible characters, and ignores case. Decodes any percent-escapes that result.
 */
function toPlainText(text: string): string {
  // Plain ASCII only needs lower-casing. A remaining `%` comes from a look-alike character.
  if (/^[^%\x80-\uffff]*$/.test(text)) return text.toLowerCase();
  return (
    text
      .replaceAll(INVISIBLE, '') // here as well, because NFKD is slow to order thousands of accents
      .normalize('NFKD')
      .replaceAll(INVISIBLE, '')
      .replaceAll(/[\u2044\u2215]/g, '/')
      .replaceAll('\u2216', '\\')
      .replaceAll(/(?:%[\da-f]{2})+/gi, unescapeOrLeave)
      // Some letters become ASCII only in upper case, others only in lower case.
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
 * Returns whether a server may interpret a path as leading to the authorization endpoints. Some servers remove `;…` up to the next slash
 * before they decode `%2f`, so any number of segments may disappear after a `;`. Others merge slashes, so empty segments are ignored.
 */
function mayBeAuthorization(segments: readonly string[]): boolean {
  let matched = new Set([0]); // how many segments of the authorization path may have matched
  const skipping = new Set<number>();
  for (const segment of segments.filter((each) => each !== '')) {
    const next = [...matched, ...skipping]
      .filter((count) => AUTHORIZATION[count]?.test(segment) === true)
      .map((count) => count + 1);
    matched = new Set(next);
    if (matched.has(AUTHORIZATION.length)) return true;
    if (segment.includes(';')) for (const count of next) skipping.add(count);
  }
  return false;
}
