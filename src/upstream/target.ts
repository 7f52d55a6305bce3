import { AUTHORIZATION_PATH } from './service-paths.ts';

export type TargetVerdict = 'forward' | 'malformed' | 'not-allowed';

/** Each round takes a layer of percent-encoding off; nobody means more than a few. */
const MOST_ROUNDS = 8;

/** A target with one reading only: plain names, one slash between them, dots inside names alone; and any query. */
const PLAIN = /^(?:\/[\w~!$&'()*,:=@-]+(?:\.[\w~!$&'()*,:=@-]+)*)+\/?(?:\?[^\x00-\x20\x7f#]*)?$/; // oxlint-disable-line no-control-regex
const NEAR_AUTHORIZATION = new RegExp(`^${AUTHORIZATION_PATH}`, 'i');

/** `.` or `..`, though a server trims blanks or takes what was encoded behind it for parameters or a query. */
const DOT_SEGMENT = /^[\s+]*\.\.?[\s+]*(?:[;?#]|$)/;
/** The names of the authorization endpoints' path, read as freely; Windows drops dots and blanks at a name's end. */
const AUTHORIZATION = AUTHORIZATION_PATH.split('/')
  .slice(1)
  .map((name) => new RegExp(`^[\\s+]*${name}[\\s+.]*(?:[;?#]|$)`));

/**
 * Judges a request target (RFC 9112 §3.2) by every reading that a server might give it: percent-encoding is taken off
 * until nothing changes, `\` counts as `/`, and `;…` is cut from each segment. What may pass is forwarded exactly as
 * it came. `apiPaths` end in `/` and hold no `%`, `;` or `\`. The time it takes grows no faster than the target.
 */
export function judgeTarget(target: string, apiPaths: readonly string[]): TargetVerdict {
  if (PLAIN.test(target) && !NEAR_AUTHORIZATION.test(target))
    return isUnder(target, apiPaths) ? 'forward' : 'not-allowed';

  const queryAt = target.indexOf('?');
  const path = queryAt < 0 ? target : target.slice(0, queryAt);
  const query = queryAt < 0 ? '' : target.slice(queryAt);
  // Absolute form, authority form, a fragment, or what no target may hold (RFC 3986 §2).
  if (!path.startsWith('/') || target.includes('#')) return 'malformed';
  // oxlint-disable-next-line no-control-regex -- control characters are what this looks for
  if (/[^\x21-\x7e]/.test(path) || /[\x00-\x20\x7f]/.test(query)) return 'malformed';
  return judgePath(path, apiPaths);
}

function judgePath(path: string, apiPaths: readonly string[]): TargetVerdict {
  const decoded = untilStable(path, decodeURIComponent);
  const freest = decoded === null ? null : untilStable(decoded, toFreestReading);
  if (decoded === null || freest === null || /\p{Cc}/u.test(freest)) return 'malformed';

  const names = toSegments(decoded).map((segment) => segment.split(';', 1)[0]);
  const freestSegments = toSegments(freest);
  if (names.slice(1, -1).includes('') || freestSegments.some((segment) => DOT_SEGMENT.test(segment)))
    return 'malformed';

  return isUnder(path, apiPaths) && !mayBeAuthorization(freestSegments) ? 'forward' : 'not-allowed';
}

/** As it came: a prefix holds nothing that any reading changes, and behind it nothing leads up. */
function isUnder(path: string, apiPaths: readonly string[]): boolean {
  return apiPaths.some((prefix) => path.startsWith(prefix));
}

function toSegments(path: string): string[] {
  return path.split(/[/\\]/);
}

/** Accents, and what can't be seen. */
const UNSEEN = /[\p{M}\p{DI}]/gu;

/** Null where it takes too many rounds, or a round fails. */
function untilStable(text: string, round: (text: string) => string): string | null {
  let before = text;
  for (let rounds = 0; rounds < MOST_ROUNDS; rounds += 1) {
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
 * Takes letters for those that they look like or stand for: compatibility forms (fullwidth, small, ligatures), accents,
 * what can't be seen, slashes that NFKC leaves alone, either case. What then spells an escape is one.
 */
function toFreestReading(text: string): string {
  // ASCII has no look-alikes; a `%` in it came from one.
  if (/^[^%\x80-\uffff]*$/.test(text)) return text.toLowerCase();
  return (
    text
      .replaceAll(UNSEEN, '') // before, too: to put thousands of accents in order takes long
      .normalize('NFKD')
      .replaceAll(UNSEEN, '')
      .replaceAll(/[\u2044\u2215]/g, '/')
      .replaceAll('\u2216', '\\')
      .replaceAll(/(?:%[\da-f]{2})+/gi, unescapeOrLeave)
      // Up and down again: some letters have a plain one only as their upper, some only as their lower case.
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
 * Whether a server may read this as a path at or under the authorization endpoints. Some cut `;…` up to the next slash
 * before they take `%2f` off: behind a segment with a `;` any number of others may be gone.
 */
function mayBeAuthorization(segments: readonly string[]): boolean {
  let met = new Set([0]); // how many of the names may have been met so far
  const skipping = new Set<number>();
  for (const segment of segments.slice(1)) {
    const next = [...met, ...skipping]
      .filter((count) => AUTHORIZATION[count]?.test(segment) === true)
      .map((count) => count + 1);
    met = new Set(next);
    if (met.has(AUTHORIZATION.length)) return true;
    if (segment.includes(';')) for (const count of next) skipping.add(count);
  }
  return false;
}
