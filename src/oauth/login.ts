import type { RequestHandler } from 'express';
import { randomPKCECodeVerifier, randomState } from 'openid-client';
import { LONGEST_WAYS, toReturnPath } from './return-to.ts';
import type { AuthDeps } from './routes.ts';
import { hasBegunMany } from './rate-limit.ts';

/** `GET /auth/login`: remembers the attempt and sends the browser to the service. */
export function createSignIn({ config, oauth, attempts, cookie, metrics }: AuthDeps): RequestHandler {
  return async (req, res) => {
    const state = randomState();
    const verifier = randomPKCECodeVerifier();
    const url = await oauth.authorizationUrl(state, verifier);
    const sessionBefore = cookie.read(req.headers.cookie)?.id;
    const whose = hasBegunMany(req) ? 'oneOfMany' : sessionBefore === undefined ? 'stranger' : 'known';
    const returnTo = toReturnPath(req.query['return_to'], config.publicOrigin, LONGEST_WAYS[whose]);
    const attempt = { verifier, returnTo, ...(sessionBefore !== undefined && { sessionBefore }) };
    res.append('Set-Cookie', await attempts.begin(state, attempt, req.headers.cookie));
    metrics?.countSignIn('started');
    res.redirect(302, url.href);
  };
}
