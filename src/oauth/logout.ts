import type { RequestHandler } from 'express';
import { AppError, StoreUnavailableError } from '../errors.ts';
import { requestContext } from '../http/request-context.ts';
import { crossSiteRequest, isSameOrigin } from '../http/cross-site.ts';
import type { AuthDeps } from './routes.ts';

/**
 * `POST /auth/logout`: ends the session for good, and what the browser keeps of it. A fail-over of Redis right after the
 * response can undo the first: its replication is asynchronous (docs/scaling.md).
 */
export function createSignOut({ config, cookie, store, life }: AuthDeps): RequestHandler {
  return async (req, res) => {
    if (!isSameOrigin(req.method, req.headers, config.publicOrigin)) throw crossSiteRequest();
    const read = cookie.read(req.headers.cookie);
    // Ended before the cookie goes: while Redis is away the answer is 503 and the user still has the ticket.
    const stood = read !== null && (await store.end(read.id).catch(stillSignedIn));
    if (read !== null && stood) life.ended(read.id, 'signed_out', requestContext(res));
    res.append('Set-Cookie', cookie.clear());
    res.set('Clear-Site-Data', '"cache", "storage"');
    if (req.accepts(['html', 'json']) === 'json') res.status(204).end();
    else res.redirect(303, '/');
  };
}

/** A user who asked to be signed out must not leave in the belief that it is done. */
function stillSignedIn(error: unknown): never {
  if (!(error instanceof StoreUnavailableError)) throw error;
  throw new StoreUnavailableError(
    error,
    'You are not signed out yet. Use the Sign out button again in a moment.',
  );
}

/** Signing out changes something, so a link or an image must not do it. */
export const refuseOtherMethods: RequestHandler = (_req, _res, next) => {
  const detail = 'You have not been signed out. Use the Sign out button at the top of a page.';
  next(new AppError('method_not_allowed', { detail, allow: 'POST' }));
};
