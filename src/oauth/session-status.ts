import type { RequestHandler } from 'express';
import { AppError, toAppError } from '../errors.ts';
import { sendProblem } from '../http/problem.ts';
import { requestContext, type RequestContext } from '../http/request-context.ts';
import { passesCrossSiteCheck } from '../http/cross-site.ts';
import { sessionEndsAt } from '../session/record.ts';
import type { SessionStore } from '../session/store.ts';
import type { AuthDeps } from './routes.ts';

/**
 * `GET /auth/session`: reports whether the browser is signed in, and until when. Doesn't restart the idle timeout, so pages may poll this
 * endpoint. Times are in ISO 8601 format and in UTC.
 */
export function createSessionStatus(deps: AuthDeps): RequestHandler {
  return respondWith(deps, async (id, context) => deps.store.peek(id, context));
}

/**
 * `POST /auth/session`: restarts the idle timeout, like any use of the session, and responds like GET. Pages send this request when the
 * user chooses to stay signed in. SESSION_MAX_SECONDS still applies, and requests from other sites are refused.
 */
export function createSessionExtension(deps: AuthDeps): RequestHandler {
  const { config, store, now } = deps;
  const extend = respondWith(deps, async (id, context) => {
    const session = await store.read(id, context);
    return session && { session, idleExpiresAt: now() + config.sessionIdleSeconds * 1_000 };
  });
  return (req, res, next) => {
    if (passesCrossSiteCheck(req.method, req.headers, config.publicOrigin)) return extend(req, res, next);
    return sendProblem(res, new AppError('cross_site_request'));
  };
}

function respondWith(
  { config, cookie, now }: AuthDeps,
  find: (id: string, context: RequestContext) => ReturnType<SessionStore['peek']>,
): RequestHandler {
  return async (req, res) => {
    const read = cookie.read(req.headers.cookie);
    try {
      const found = read === null ? null : await find(read.id, requestContext(res));
      if (found === null) {
        res.json({ signedIn: false });
        return;
      }
      if (read?.usesFirstKey === false) res.append('Set-Cookie', cookie.write(read.id));
      const { record } = found.session;
      // The browser clock may be wrong, so send a Date header from which pages can compute the time left.
      res.set('Date', new Date(now()).toUTCString());
      res.json({
        signedIn: true,
        expiresAt: sessionEndsAt(record, config.sessionMaxSeconds),
        idleExpiresAt: new Date(found.idleExpiresAt).toISOString(),
        scopes: record.grant.scopes,
      });
    } catch (error) {
      sendProblem(res, toAppError(error)); // the client is a script, whatever its Accept header says
    }
  };
}
