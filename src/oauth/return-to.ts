/** Where sign-in leads when it was not told, or told to leave the site. */
export const HOME = '/workspaces';

/**
 * Characters: a page deep in what was found leads back to it, and each letter of its words may take nine. Of a stranger, who
 * has no cookie of ours, fewer: each takes room in Redis for ten minutes. And few of an address that begins many sign-ins
 * (docs/decisions/0032).
 */
export const LONGEST_WAYS = { known: 8_192, stranger: 4_096, oneOfMany: 512 } as const;

/**
 * The path on this site that a `return_to` means, with its query and fragment; HOME where it is missing, malformed or
 * leads off the site or back into sign-in, or is longer than `longest`. What it returns is safe in a `Location` header.
 */
export function toReturnPath(
  value: unknown,
  publicOrigin: string,
  longest: number = LONGEST_WAYS.known,
): string {
  if (typeof value !== 'string' || value.length > longest || !/^\/(?![/\\])[^\p{Cc}\\]*$/u.test(value))
    return HOME;
  if (!URL.canParse(value, publicOrigin)) return HOME;
  const url = new URL(value, publicOrigin);
  // "/.//other.example" resolves to a path that a browser would take for another host.
  if (url.origin !== publicOrigin || url.pathname.startsWith('//')) return HOME;
  if (/^\/auth(?:\/|$)/i.test(url.pathname)) return HOME;
  const path = url.pathname + url.search + url.hash;
  return path.length > longest ? HOME : path; // what was one character may be three now
}
