import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { inWords } from '../durations.ts';
import { AppError, toAppError } from '../errors.ts';
import type { Logger } from '../observability/logger.ts';
import { sendProblem } from './problem.ts';
import { requestId } from './request-id.ts';
import { loginUrl, returnPathOf } from './return-path.ts';
import { frameOf, type Link } from './site-frame.ts';
import type { Render } from './templates.ts';

/** Passes on that there is no such page: the last handler before the error pages. */
export const pageNotFound: RequestHandler = (_req, _res, next) => {
  next(new AppError('page_not_found'));
};

/** Refuses TRACE (RFC 9110 §9.3.8): it would show a page headers that the browser hides from it. */
export const refuseTrace: RequestHandler = (req, _res, next) => {
  if (req.method !== 'TRACE') next();
  else next(new AppError('method_not_allowed', { allow: 'GET, HEAD, POST' }));
};

/**
 * Turns whatever went wrong into a page with ways on and the request id, or into problem+json for a caller who
 * prefers JSON; never a stack. Where an answer has begun, the connection is cut: half a page must not look whole.
 * `isSignedIn` decides where the page leads on and whether it offers to sign out; it is asked with Redis away, too,
 * and must not throw.
 */
export function createErrorPages(deps: {
  readonly render: Render;
  readonly log: Logger;
  readonly isSignedIn: (req: Request) => boolean;
}): ErrorRequestHandler {
  const { render, log, isSignedIn } = deps;

  const toPage = (error: AppError, req: Request, res: Response) => {
    const signedIn = isSignedIn(req);
    const ways = toWays(error, req, res, signedIn ? WORKSPACES : START);
    return render('error', {
      ...frameOf(res),
      title: error.title,
      signedIn,
      // To say no is no error.
      ...(error.code !== 'access_denied' && { status: error.status }),
      detail: error.detail,
      ways,
      wait: ways[0]?.href === req.originalUrl ? toWait(error) : null,
      requestId: requestId(res),
    });
  };

  // Express tells error handlers by their four parameters.
  return (thrown: unknown, req, res, _next) => {
    const error = isMalformedAddress(thrown) ? new AppError('bad_request_target') : toAppError(thrown);
    if (error.status >= 500) {
      const { code, status } = error;
      // Without its `detail`, which is for whoever asked, and may quote what they sent.
      const line = { err: thrown, requestId: requestId(res), code };
      // An outage is a normal event; what nobody designed an answer for is not.
      if (status === 500) log.error(line, 'request failed');
      else log.warn(line, 'request failed');
    }
    if (res.headersSent || prefersJson(req)) {
      sendProblem(res, error);
      return;
    }
    try {
      const page = toPage(error, req, res);
      res.set('x-request-id', requestId(res));
      res.status(error.status).set(error.headers).type('html').send(page);
    } catch (failure) {
      log.error({ err: failure, requestId: requestId(res) }, 'error page failed');
      sendProblem(res, error);
    }
  };
}

function prefersJson(req: Request): boolean {
  const best = req.accepts(['text/html', 'application/json', 'application/problem+json']);
  return best !== false && best !== 'text/html';
}

/** Express can't decode the path (`/item/%ff`), and gives its error a status of 400. */
function isMalformedAddress(error: unknown): boolean {
  return error instanceof URIError && 'status' in error && error.status === 400;
}

const START: Link = { href: '/', label: 'Go to the start page' };
/** The start page of who is signed in: `/` only leads there. */
const WORKSPACES: Link = { href: '/workspaces', label: 'Go to your workspaces' };

/**
 * The ways on, the likeliest first: the error's own, or to try a page again that failed on our side, and then the start
 * page, unless it is what failed.
 */
function toWays(error: AppError, req: Request, res: Response, start: Link): Link[] {
  const startFailed = pathOf(req) === start.href;
  const first =
    toSignIn(error, req, res) ?? (startFailed || isRepeatable(error, req) ? tryAgain(req) : start);
  return first === start || startFailed ? [first] : [first, start];
}

function toSignIn({ signInLabel, returnTo }: AppError, req: Request, res: Response): Link | null {
  if (signInLabel === undefined) return null;
  return { href: loginUrl(returnTo ?? returnPathOf(req, res)), label: signInLabel };
}

/** A page of ours; `//host` and `/\host` lead to another site. */
function isRepeatable({ status }: AppError, { method, originalUrl }: Request): boolean {
  return (
    (status >= 500 || status === 429) &&
    (method === 'GET' || method === 'HEAD') &&
    /^\/(?![/\\])/.test(originalUrl)
  );
}

function tryAgain({ originalUrl }: Request): Link {
  return { href: originalUrl, label: 'Try again' };
}

/** How long to wait before the page is tried again, where the error says (RFC 9110 §10.2.3, in seconds). */
function toWait({
  retryAfterSeconds: seconds,
}: AppError): { readonly seconds: number; readonly words: string } | null {
  return seconds === undefined ? null : { seconds, words: inWords(seconds) };
}

function pathOf({ originalUrl }: Request): string {
  return originalUrl.split('?', 1)[0] ?? '';
}
