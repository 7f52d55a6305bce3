import type { ErrorRequestHandler, Request, RequestHandler } from 'express';
import { loginUrl, returnPathOf } from '../http/error-pages.ts';
import type { Session } from '../session/record.ts';
import { SessionEndedError } from '../errors.ts';
import { currentSession } from '../session/express-session.ts';

/** Lets a page through only with a session; sends everyone else to sign in and come back. */
export const requireSession: RequestHandler = (req, res, next) => {
  if (currentSession(req) === null) res.redirect(303, loginUrl(returnPathOf(req, res)));
  else next();
};

/** The session of a request that requireSession has let through. */
export function requiredSession(req: Request): Session {
  const ticket = currentSession(req);
  if (ticket === null) throw new SessionEndedError();
  return ticket;
}

/** A session that ended while a page was being made: sign in and come back, as if it had ended before. */
export const signInAgain: ErrorRequestHandler = (error: unknown, req, res, next) => {
  if (error instanceof SessionEndedError && !res.headersSent)
    res.redirect(303, loginUrl(returnPathOf(req, res)));
  else next(error);
};
