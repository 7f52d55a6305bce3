import type { ErrorRequestHandler, Request, RequestHandler } from 'express';
import { SessionEndedError } from '../errors.ts';
import { loginUrl, returnPathOf } from '../http/error-pages.ts';
import { currentSession } from '../session/express-session.ts';
import type { Session } from '../session/record.ts';

/** Redirects page requests without a session to sign-in, which then leads back to the page. */
export const requireSession: RequestHandler = (req, res, next) => {
  if (currentSession(req) === null) res.redirect(303, loginUrl(returnPathOf(req, res)));
  else next();
};

/** Returns the session of a request that has passed requireSession. */
export function currentSessionOrThrow(req: Request): Session {
  const session = currentSession(req);
  if (session === null) throw new SessionEndedError();
  return session;
}

/** Redirects to sign-in if the session ended while a page was being prepared. */
export const redirectEndedSession: ErrorRequestHandler = (error: unknown, req, res, next) => {
  if (error instanceof SessionEndedError && !res.headersSent)
    res.redirect(303, loginUrl(returnPathOf(req, res)));
  else next(error);
};
