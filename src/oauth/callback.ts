import { setTimeout as delay } from 'node:timers/promises';
import type { RequestHandler } from 'express';
import { AppError } from '../errors.ts';
import { requestContext, type RequestContext } from '../http/request-context.ts';
import { currentSession, startSession } from '../session/express-session.ts';
import { sessionLogId } from '../session/events.ts';
import type { SessionStore } from '../session/store.ts';
import { InvalidAuthorizationResponseError, OAuthError, toLoggableCode } from './client.ts';
import { HOME } from './login.ts';
import type { AuthDeps } from './routes.ts';

/**
 * `GET /auth/callback`: receives the authorization response (RFC 6749 §4.1.2) and exchanges its code for tokens (§4.1.3).
 * Starts a session under a new id and ends the previous session.
 */
export function createCallback(deps: AuthDeps): RequestHandler {
  const { config, oauth, signIns, sessionEvents, metrics, render, now } = deps;
  return async (req, res) => {
    const { searchParams: query } = new URL(req.originalUrl, config.publicOrigin);
    const state = query.get('state') ?? '';
    const transaction = await signIns.take(state, req.headers.cookie);
    const previous = currentSession(req);
    if (transaction === null) {
      // Don't show an error to a signed-in user who reloads the page or goes back to it.
      if (previous === null) throw new AppError('sign_in_attempt_unknown', { returnTo: HOME });
      res.redirect(303, HOME);
      return;
    }

    const { verifier, returnTo } = transaction;
    checkAuthorizationResponse(query, returnTo);
    const context = requestContext(res);
    const grant = await oauth
      .exchangeCode(query, state, verifier, context.trace)
      .catch((error: unknown) => throwExchangeFailed(error, returnTo));

    await startSession(req, { grant, createdAt: now() });
    context.session = sessionLogId(req.sessionID);
    sessionEvents.started(req.sessionID, context);
    metrics?.oauth.signIn('signed_in');
    const previousIds = new Set([previous?.id, transaction.previousSession]);
    await Promise.all(
      [...previousIds].map(async (id) => id !== undefined && endPreviousSession(deps, id, context)),
    );

    // The browser cache may contain responses for the previous user (W3C Clear Site Data §3.1).
    res.setHeader('clear-site-data', '"cache"');
    if (config.cookieSameSite === 'lax') res.redirect(303, returnTo);
    // Browsers send a strict cookie only with requests from a page on this site, so send a page that then loads `returnTo`.
    else res.send(render('bounce', { title: 'Signed in', signedIn: true, href: returnTo }));
  };
}

/** Throws if the response is an error or has no code (RFC 6749 §4.1.2.1). Shows only plain error codes, because any site can link here. */
function checkAuthorizationResponse(query: URLSearchParams, returnTo: string): void {
  const error = query.get('error');
  if (error === 'access_denied') throw new AppError('access_denied', { returnTo });
  if (error !== null) {
    const shown = /^[\w.-]{1,64}$/.test(error) ? error : 'unknown error';
    throw new AppError('authorization_failed', {
      detail: `The service reported an error (“${shown}”). Try again in a few minutes.`,
      returnTo,
      cause: new Error(`authorization response with ${toLoggableCode(error)}`),
    });
  }
  if ((query.get('code') ?? '') === '') throw new AppError('code_missing', { returnTo });
}

/** Throws the error for a failed code exchange. The user must sign in again, because the code may already have been used. */
function throwExchangeFailed(cause: unknown, returnTo: string): never {
  if (cause instanceof InvalidAuthorizationResponseError) {
    throw new AppError('authorization_failed', {
      detail: 'Cloakroom could not confirm that the service sent you back. Try again.',
      returnTo,
      cause,
    });
  }
  const code = cause instanceof OAuthError ? 'code_refused' : 'code_exchange_failed';
  throw new AppError(code, { returnTo, cause });
}

/**
 * Ends the browser's previous session. A Redis outage doesn't fail the sign-in, because the new session is already stored.
 * Resolves after the first attempt, and retries in the background until `giveUpMs` have passed.
 */
export async function endPreviousSession(
  {
    store,
    sessionEvents,
    log,
  }: Pick<AuthDeps, 'sessionEvents' | 'log'> & { readonly store: Pick<SessionStore, 'end'> },
  id: string,
  context: RequestContext,
  { retryMs, giveUpMs } = { retryMs: 1_000, giveUpMs: 600_000 },
): Promise<void> {
  const end = async () => {
    if (await store.end(id)) sessionEvents.ended(id, 'signed_in_again', context);
  };
  const retry = async () => {
    for (const giveUpAt = performance.now() + giveUpMs; ;) {
      await delay(retryMs, undefined, { ref: false });
      try {
        await end();
        return;
      } catch (error) {
        if (performance.now() < giveUpAt) continue;
        log.error({ err: error }, 'previous session not ended; gave up');
        return;
      }
    }
  };
  await end().catch((error: unknown) => {
    log.warn({ err: error }, 'previous session not ended; retrying');
    void retry();
  });
}
