import type { RequestHandler, Response } from 'express';
import { toAppError } from '../errors.ts';
import { sendProblem } from '../http/problem.ts';
import { requestContext, type RequestContext } from '../http/request-context.ts';
import { crossSiteRequest, isSameOrigin } from '../http/cross-site.ts';
import { endOfSession } from '../session/record.ts';
import type { SessionRecord } from '../session/record.ts';
import type { AuthDeps } from './routes.ts';

/** A session, and when it ends without use (ms since the epoch). */
interface Found {
  readonly record: SessionRecord;
  readonly idleExpiresAt: number;
}

/**
 * `GET /auth/session`: whether the browser is signed in, and until when (ISO 8601 UTC). Asking does not extend the
 * idle time, so that a page may ask as often as it likes.
 */
export function createSessionStatus(deps: AuthDeps): RequestHandler {
  return answerWith(deps, async (id, by) => {
    const found = await deps.store.peek(id, by);
    return found === null ? null : { record: found.ticket.record, idleExpiresAt: found.idleExpiresAt };
  });
}

/**
 * `POST /auth/session`: begins the idle time anew, as any use does, and answers what GET does then. For a person who
 * is there and says so; the age of a session stays what it is. Same-site check as for unsafe API calls.
 */
export function createSessionExtension(deps: AuthDeps): RequestHandler {
  const { config, store, now } = deps;
  const extend = answerWith(deps, async (id, by) => {
    const ticket = await store.read(id, by);
    if (ticket === null) return null;
    return { record: ticket.record, idleExpiresAt: now() + config.sessionIdleSeconds * 1_000 };
  });
  return (req, res, next) => {
    if (isSameOrigin(req.method, req.headers, config.publicOrigin)) return extend(req, res, next);
    return sendProblem(res, crossSiteRequest());
  };
}

function answerWith(
  deps: AuthDeps,
  find: (id: string, by: RequestContext) => Promise<Found | null>,
): RequestHandler {
  const { config, cookie, now } = deps;
  const send = (res: Response, { record, idleExpiresAt }: Found) => {
    // Browsers' clocks are wrong: with this one, which said these times too, a page knows how much is left.
    res.set('Date', new Date(now()).toUTCString());
    res.json({
      signedIn: true,
      expiresAt: endOfSession(record, config.sessionMaxSeconds),
      idleExpiresAt: new Date(idleExpiresAt).toISOString(),
      scopes: record.grant.scopes,
    });
  };

  return async (req, res) => {
    const read = cookie.read(req.headers.cookie);
    try {
      const found = read === null ? null : await find(read.id, requestContext(res));
      if (found === null) {
        res.json({ signedIn: false });
        return;
      }
      if (read?.current === false) res.append('Set-Cookie', cookie.write(read.id));
      send(res, found);
    } catch (error) {
      sendProblem(res, toAppError(error)); // who asks here is a script, whatever its Accept says
    }
  };
}
