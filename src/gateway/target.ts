import { AUTHORIZATION_PATH } from '../auth/service-paths.ts';

export type TargetVerdict = 'forward' | 'malformed' | 'not-allowed';

/** Each round takes a layer of percent-encoding off; nobody means more than a few. */
const MOST_ROUNDS = 8;

/**
 * Judges a request target (RFC 9112 §3.2) by every reading that a server might give it: percent-encoding is taken off
 * until nothing changes, `\` counts as `/`, and `;…` is cut from each segment. What may pass is forwarded exactly as
 * it came. `apiPaths` end in `/`.
 */
export function judgeTarget(target: string, apiPaths: readonly string[]): TargetVerdict {
  const queryAt = target.indexOf('?');
  const path = queryAt < 0 ? target : target.slice(0, queryAt);
  const query = queryAt < 0 ? '' : target.slice(queryAt);
  // Absolute form, authority form, a fragment, or what no target may hold (RFC 3986 §2).
  if (!path.startsWith('/') || target.includes('#')) return 'malformed';
  // oxlint-disable-next-line no-control-regex -- control characters are what this looks for
  if (/[^\x21-\x7e]/.test(path) || /[\x00-\x20\x7f]/.test(query)) return 'malformed';

  const decoded = decodeFully(path);
  if (decoded === null || /\p{Cc}/u.test(decoded)) return 'malformed';
  const segments = decoded
    .replaceAll('\\', '/')
    .split('/')
    .map((segment) => segment.split(';', 1)[0] ?? '');
  const inner = segments.slice(1, segments.at(-1) === '' ? -1 : undefined);
  if (inner.some((segment) => segment === '' || segment === '.' || segment === '..')) return 'malformed';

  // Both as it came and as judged, so that no reading of it lies elsewhere.
  const judged = segments.join('/');
  const isUnder = apiPaths.some((prefix) => path.startsWith(prefix) && judged.startsWith(prefix));
  return isUnder && !isAuthorization(judged) ? 'forward' : 'not-allowed';
}

function decodeFully(path: string): string | null {
  let text = path;
  for (let round = 0; round < MOST_ROUNDS; round += 1) {
    let decoded: string;
    try {
      decoded = decodeURIComponent(text);
    } catch {
      return null;
    }
    if (decoded === text) return text;
    text = decoded;
  }
  return null;
}

function isAuthorization(judged: string): boolean {
  // Up and down again: some letters have a plain one only as their upper, some only as their lower case.
  const folded = judged.toUpperCase().toLowerCase();
  return folded === AUTHORIZATION_PATH || folded.startsWith(`${AUTHORIZATION_PATH}/`);
}
