import type { Request, RequestHandler } from 'express';
import { AppError } from '../errors.ts';
import { requestContext } from '../http/request-context.ts';
import type { RequestContext } from '../http/request-context.ts';
import { sessionLogId } from '../session/log-id.ts';
import { startSession, currentSession } from '../session/express-session.ts';
import { endForSure } from './end-for-sure.ts';
import { HOME } from './return-to.ts';
import type { AuthDeps } from './routes.ts';
import type { SignInTransaction } from './sign-in-transactions.ts';
import { authorizationFailed, exchangeFailed } from './sign-in-errors.ts';

/**
 * `GET /auth/callback` (RFC 6749 §4.1.2): ends the attempt that its `state` names, exchanges the code, begins a session
 * under a new id and ends the one before it.
 */
export function createCallback(deps: AuthDeps): RequestHandler {
  const { config, attempts, life, metrics, render, now } = deps;
  return async (req, res) => {
    const query = queryOf(req);
    const state = query.get('state') ?? '';
    const attempt = await attempts.consume(state, req.headers.cookie);
    const before = currentSession(req);
    if (attempt === null) {
      // Reloaded, or gone back to: who is signed in need not hear of it.
      if (before === null) throw new AppError('sign_in_attempt_unknown', { returnTo: HOME });
      res.redirect(303, HOME);
      return;
    }

    const notes = requestContext(res);
    const grant = await redeem(deps, query, state, attempt, notes);
    await startSession(req, { grant, createdAt: now() });
    notes.session = sessionLogId(req.sessionID);
    life.started(req.sessionID, notes);
    metrics?.countSignIn('signed_in');
    for (const id of new Set([before?.id, attempt.sessionBefore]))
      if (id !== undefined) await endForSure(deps, id, notes);

    // The browser may hold responses of the user before, whose session has expired (W3C Clear Site Data §3.1).
    res.setHeader('clear-site-data', '"cache"');
    if (config.cookieSameSite === 'lax') res.redirect(303, attempt.returnTo);
    // A strict cookie goes along only with what a page of ours asks for: so there is one in between.
    else res.send(render('bounce', { title: 'Signed in', signedIn: true, href: attempt.returnTo }));
  };
}

async function redeem(
  deps: AuthDeps,
  query: URLSearchParams,
  state: string,
  attempt: SignInTransaction,
  { trace }: RequestContext,
) {
  const error = query.get('error');
  if (error === 'access_denied') throw new AppError('access_denied', { returnTo: attempt.returnTo });
  if (error !== null) throw authorizationFailed(error, attempt.returnTo);
  if ((query.get('code') ?? '') === '') throw new AppError('code_missing', { returnTo: attempt.returnTo });
  try {
    return await deps.oauth.exchangeCode(query, state, attempt.verifier, trace);
  } catch (cause) {
    throw exchangeFailed(cause, attempt.returnTo);
  }
}

function queryOf(req: Request): URLSearchParams {
  const at = req.originalUrl.indexOf('?');
  return new URLSearchParams(at < 0 ? '' : req.originalUrl.slice(at));
}
