import type { RequestHandler } from 'express';
import { randomPKCECodeVerifier, randomState } from 'openid-client';
import { hasManySignIns } from './rate-limit.ts';
import type { AuthDeps } from './routes.ts';

/** The page shown after sign-in if `return_to` is missing or leads to another site. */
export const HOME = '/workspaces';

/**
 * Maximum length of `return_to` in characters (docs/decisions/0005). Each value occupies Redis memory for ten minutes, so the limit is
 * lower without a session cookie, and lowest for addresses with many sign-ins. Search URLs can be long, because each Chinese character in
 * the search text takes nine characters when percent-encoded.
 */
const MAX_RETURN_PATH = { withCookie: 8_192, withoutCookie: 4_096, manySignIns: 512 } as const;

/**
 * `GET /auth/login`: starts a sign-in transaction and redirects the browser to the service's authorization endpoint (RFC 6749
 * §4.1.1, with PKCE, RFC 7636 §4.3).
 */
export function createLogin({ config, oauth, signIns, cookie, metrics }: AuthDeps): RequestHandler {
  return async (req, res) => {
    const state = randomState();
    const verifier = randomPKCECodeVerifier();
    const url = await oauth.authorizationUrl(state, verifier);
    const previousSession = cookie.read(req.headers.cookie)?.id;
    const client = previousSession === undefined ? 'withoutCookie' : 'withCookie';
    const maxLength = MAX_RETURN_PATH[hasManySignIns(req) ? 'manySignIns' : client];
    const returnTo = toReturnPath(req.query['return_to'], config.publicOrigin, maxLength);
    const transaction = { verifier, returnTo, ...(previousSession !== undefined && { previousSession }) };
    res.append('Set-Cookie', await signIns.start(state, transaction, req.headers.cookie));
    metrics?.oauth.signIn('started');
    res.redirect(302, url.href);
  };
}

/**
 * Returns the path on this site that `return_to` specifies, with query and fragment. Returns HOME if the value is missing,
 * malformed or too long, or if it leads to another site or back to sign-in. The result is safe in a `Location` header.
 */
export function toReturnPath(
  value: unknown,
  publicOrigin: string,
  maxLength: number = MAX_RETURN_PATH.withCookie,
): string {
  if (typeof value !== 'string' || value.length > maxLength || !/^\/(?![/\\])[^\p{Cc}\\]*$/u.test(value))
    return HOME;
  if (!URL.canParse(value, publicOrigin)) return HOME;
  const url = new URL(value, publicOrigin);
  // "/.//other.example" resolves to a path that a browser would interpret as another host.
  if (url.origin !== publicOrigin || url.pathname.startsWith('//')) return HOME;
  if (/^\/auth(?:\/|$)/i.test(url.pathname)) return HOME;
  const path = url.pathname + url.search + url.hash;
  return path.length > maxLength ? HOME : path; // percent-encoding can make it longer
}
