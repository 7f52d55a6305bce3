import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { AppError, toAppError, type ProblemCode } from '../errors.ts';
import type { Logger } from '../observability/logger.ts';
import { sendProblem } from './problem.ts';
import { requestId } from './request-context.ts';
import type { Render } from './templates.ts';

interface Link {
  /** A path on this site. */
  readonly href: string;
  readonly label: string;
}

/** The navigation on an error page. It matches the page that the error page replaces. */
interface ErrorPageFrame {
  /** The part of the site that the navigation highlights. */
  readonly section: string;
  /** Leads to the previous page. */
  readonly backLink?: Link;
  /** Titles that replace the problem's own with more precise ones for this page. */
  readonly titles?: Partial<Readonly<Record<ProblemCode, string>>>;
}

/** Sets the frame for error pages. Routes call this before anything can fail. */
export function setErrorPageFrame(res: Response, frame: ErrorPageFrame): void {
  res.locals['frame'] = frame;
}

/**
 * Sets the page to return to after sign-in if the requested URL is not a page, for example an export. Routes call this before
 * the session is checked, because a request without a session is redirected immediately.
 */
export function setReturnPath(res: Response, path: string): void {
  res.locals['returnPath'] = path;
}

/** Returns the URL that starts sign-in and then leads back to a path on this site. */
export function loginUrl(returnTo: string): string {
  return `/auth/login?return_to=${encodeURIComponent(returnTo)}`;
}

/** Returns the page to return to after sign-in: the requested URL, unless setReturnPath() has set another. */
export function returnPathOf(req: Request, res: Response): string {
  return (res.locals['returnPath'] as string | undefined) ?? req.originalUrl;
}

/** Responds with 404. This is the last handler before the error pages. */
export const pageNotFound: RequestHandler = (_req, _res, next) => {
  next(new AppError('page_not_found'));
};

/** Refuses TRACE (RFC 9110 §9.3.8), which would expose headers to a page that the browser hides from it. */
export const refuseTrace: RequestHandler = (req, _res, next) => {
  if (req.method !== 'TRACE') next();
  else next(new AppError('method_not_allowed', { allow: 'GET, HEAD, POST' }));
};

/**
 * Turns an error into a page with links and the request id, or into problem+json for clients that prefer JSON, without a stack
 * trace. Aborts a response that has begun, so that a partial page doesn't look complete. `isSignedIn` decides which links the
 * page has and whether it offers to sign out. It must not throw, even while Redis is down.
 */
export function createErrorPages(deps: {
  readonly render: Render;
  readonly log: Logger;
  readonly isSignedIn: (req: Request) => boolean;
}): ErrorRequestHandler {
  const { render, log, isSignedIn } = deps;

  const toPage = (error: AppError, req: Request, res: Response) => {
    const signedIn = isSignedIn(req);
    const frame = res.locals['frame'] as ErrorPageFrame | undefined;
    const links = toLinks(error, req, res, signedIn ? WORKSPACES : START);
    return render('error', {
      ...frame,
      title: frame?.titles?.[error.code] ?? error.title,
      signedIn,
      // Refusing consent is not an error.
      ...(error.code !== 'access_denied' && { status: error.status }),
      detail: error.detail,
      links,
      wait: links[0]?.href === req.originalUrl ? toWait(error) : null,
      requestId: requestId(res),
    });
  };

  // Express recognises error handlers by their four parameters.
  return (thrown: unknown, req, res, _next) => {
    const error = isMalformedPath(thrown) ? new AppError('bad_request_target') : toAppError(thrown);
    if (error.status >= 500) {
      const { code, status } = error;
      // Omit `detail`, which may quote the request.
      const line = { err: thrown, requestId: requestId(res), code };
      // An outage is expected; an internal error is not.
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

/** Whether Express failed to decode the path (`/item/%ff`). Express sets the status of that error to 400. */
function isMalformedPath(error: unknown): boolean {
  return error instanceof URIError && 'status' in error && error.status === 400;
}

const START: Link = { href: '/', label: 'Go to the start page' };
/** The start page for signed-in users; `/` would redirect them here. */
const WORKSPACES: Link = { href: '/workspaces', label: 'Go to your workspaces' };

/**
 * Returns the links for an error page. The first link signs in, or retries after a server error. The start page follows, unless
 * it is the page that failed.
 */
function toLinks(error: AppError, req: Request, res: Response, start: Link): Link[] {
  const { signInLabel, returnTo } = error;
  const startFailed = req.originalUrl.split('?', 1)[0] === start.href;
  let first = start;
  if (signInLabel !== undefined)
    first = { href: loginUrl(returnTo ?? returnPathOf(req, res)), label: signInLabel };
  else if (startFailed || isRepeatable(error, req)) first = { href: req.originalUrl, label: 'Try again' };
  return first === start || startFailed ? [first] : [first, start];
}

/** Whether a link can repeat the request. A link to `//host` or `/\host` would lead to another site. */
function isRepeatable({ status }: AppError, { method, originalUrl }: Request): boolean {
  return (
    (status >= 500 || status === 429) &&
    (method === 'GET' || method === 'HEAD') &&
    /^\/(?![/\\])/.test(originalUrl)
  );
}

/** Returns an error's `Retry-After` in seconds and in words, or null if it has none. */
function toWait({ retryAfterSeconds: seconds }: AppError): { seconds: number; words: string } | null {
  if (seconds === undefined) return null;
  if (seconds === 1) return { seconds, words: 'a second' };
  return { seconds, words: seconds < 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes` };
}
