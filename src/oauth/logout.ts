import type { RequestHandler } from 'express';
import { AppError } from '../errors.ts';
import { requestContext } from '../http/request-context.ts';
import { passesCrossSiteCheck } from '../http/cross-site.ts';
import { StoreUnavailableError } from '../redis/client.ts';
import type { AuthDeps } from './routes.ts';

/**
 * `POST /auth/logout`: ends the session, and clears its cookie and the browser's data (W3C Clear Site Data §3.1). A Redis failover
 * immediately afterwards can restore the session, because replication is asynchronous (docs/performance.md).
 */
export function createLogout({ config, cookie, store, sessionEvents }: AuthDeps): RequestHandler {
  return async (req, res) => {
    if (!passesCrossSiteCheck(req.method, req.headers, config.publicOrigin))
      throw new AppError('cross_site_request');
    const read = cookie.read(req.headers.cookie);
    // End the session before clearing the cookie. If Redis is down, the response is a 503, and the user is still signed in.
    const hadSession = read !== null && (await store.end(read.id).catch(throwStillSignedIn));
    if (read !== null && hadSession) sessionEvents.ended(read.id, 'signed_out', requestContext(res));
    res.append('Set-Cookie', cookie.clear());
    res.set('Clear-Site-Data', '"cache", "storage"');
    if (req.accepts(['html', 'json']) === 'json') res.status(204).end();
    else res.redirect(303, '/');
  };
}

/** Throws an error that tells the user that sign-out failed. The user may be about to leave a shared computer. */
function throwStillSignedIn(error: unknown): never {
  if (!(error instanceof StoreUnavailableError)) throw error;
  const detail = 'You are not signed out yet. Select Sign out again in a moment.';
  throw new StoreUnavailableError(error, detail);
}

/** Refuses other methods with 405. A sign-out request is not safe (RFC 9110 §9.2.1), so links and images must not trigger it. */
export const refuseOtherMethods: RequestHandler = (_req, _res, next) => {
  const detail = 'You are not signed out. Select Sign out at the top of any page.';
  next(new AppError('method_not_allowed', { detail, allow: 'POST' }));
};
