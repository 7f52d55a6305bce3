import type { RequestHandler } from 'express';
import { crossSiteRequest, isSameSite } from '../platform/cross-site.ts';
import { AppError } from '../platform/errors.ts';
import type { AuthDeps } from './routes.ts';

/** `POST /auth/logout`: ends the session for good, and what the browser keeps of it. */
export function createSignOut({ config, cookie, records }: AuthDeps): RequestHandler {
  return async (req, res) => {
    if (!isSameSite(req.method, req.headers, config.publicOrigin)) throw crossSiteRequest();
    const read = cookie.read(req.headers.cookie);
    // Ended before the cookie goes: while Redis is away the answer is 503 and the user still has the ticket.
    if (read !== null) await records.end(read.id);
    res.append('Set-Cookie', cookie.clear());
    res.set('Clear-Site-Data', '"cache", "storage"');
    if (req.accepts(['html', 'json']) === 'json') res.status(204).end();
    else res.redirect(303, '/');
  };
}

/** Signing out changes something, so a link or an image must not do it. */
export const refuseOtherMethods: RequestHandler = (_req, _res, next) => {
  next(
    new AppError(405, 'method_not_allowed', 'Signing out takes a POST request', {
      detail: 'Use the Sign out button, or send POST /auth/logout.',
      headers: { allow: 'POST' },
    }),
  );
};
