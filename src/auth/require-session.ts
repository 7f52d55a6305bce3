import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import type { Ticket } from '../session/record.ts';
import { SessionEndedError } from '../session/session-ended.ts';
import { ticketOf } from '../session/sessions.ts';
import { loginUrl } from './return-to.ts';

const PLACE = Symbol('where sign-in comes back to');

/** An answer that may know a better place to come back to than the address that was asked for. */
type Placed<T> = T & { [PLACE]?: string };

/**
 * Sign-in is to come back to `path`, one of ours, instead of what was asked for: said ahead of requireSession by whoever
 * answers with something that is no page to come back to.
 */
export function comeBackTo(res: Placed<Response>, path: string): void {
  res[PLACE] = path;
}

function placeOf(req: Request, res: Placed<Response>): string {
  return res[PLACE] ?? req.originalUrl;
}

/** Lets a page through only with a session; sends everyone else to sign in and come back. */
export const requireSession: RequestHandler = (req, res, next) => {
  if (ticketOf(req) === null) res.redirect(303, loginUrl(placeOf(req, res)));
  else next();
};

/** The session of a request that requireSession has let through. */
export function requiredTicket(req: Request): Ticket {
  const ticket = ticketOf(req);
  if (ticket === null) throw new SessionEndedError();
  return ticket;
}

/** A session that ended while a page was being made: sign in and come back, as if it had ended before. */
export const signInAgain: ErrorRequestHandler = (error: unknown, req, res, next) => {
  if (error instanceof SessionEndedError && !res.headersSent) res.redirect(303, loginUrl(placeOf(req, res)));
  else next(error);
};
