import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { AppError, toAppError, type ProblemCode } from '../errors.ts';
import type { Logger } from '../observability/logger.ts';
import { sendProblem } from './problem.ts';
import { requestContext, requestId } from './request-context.ts';
import type { Render } from './templates.ts';

interface Link {
  /** A path on this site. */
  readonly href: string;
  readonly label: string;
}

/** The navigation on an error page, which is the same as on the page that failed. */
interface ErrorPageFrame {
  /** The part of the site that the navigation highlights. */
  readonly section: string;
  /** Link to the previous page. */
  readonly backLink?: Link;
  /** More precise titles for this page, keyed by problem code. */
  readonly titles?: Partial<Readonly<Record<ProblemCode, string>>>;
}

/** Sets the navigation for error pages. Routes call this function before anything can fail. */
export function setErrorPageFrame(res: Response, frame: ErrorPageFrame): void {
  res.locals['frame'] = frame;
}

/**
 * Sets the page to return to after sign-in, for a URL that is not a page, such as an export. Routes call this function before
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

/** Responds with 404, as the last handler before the error pages. */
export const pageNotFound: RequestHandler = (_req, _res, next) => {
  next(new AppError('page_not_found'));
};

/** Refuses TRACE (RFC 9110 §9.3.8), which would echo headers that browsers hide from pages. */
export const refuseTrace: RequestHandler = (req, _res, next) => {
  if (req.method !== 'TRACE') next();
  else next(new AppError('method_not_allowed', { allow: 'GET, HEAD, POST' }));
};

/**
 * Creates the handler that turns an error into a page, or into problem+json for clients that prefer JSON. A response that has
 * begun is aborted, so that a partial page doesn't look complete. `isSignedIn` determines which links a page has and whether
 * the page offers sign-out. `isSignedIn` must not throw, even while Redis is down.
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
      // Refusing consent is not an error, so omit the status.
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
    requestContext(res).problem = error;
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

/** Returns whether Express failed to decode the path (`/item/%ff`). Express gives such an error the status 400. */
function isMalformedPath(error: unknown): boolean {
  return error instanceof URIError && 'status' in error && error.status === 400;
}

const START: Link = { href: '/', label: 'Go to the home page' };
/** The home page for signed-in users, to which `/` redirects. */
const WORKSPACES: Link = { href: '/workspaces', label: 'Go to your workspaces' };

/**
 * Returns the links for an error page. The first link starts sign-in, or repeats the request after a server error or a 429. A
 * link to the home page follows, unless that page failed.
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

/** Returns whether a link can repeat the request. A link to `//host` or `/\host` would lead to another site. */
function isRepeatable({ status }: AppError, { method, originalUrl }: Request): boolean {
  return (
    (status >= 500 || status === 429) &&
    (method === 'GET' || method === 'HEAD') &&
    /^\/(?![/\\])/.test(originalUrl)
  );
}

/** Returns the `Retry-After` of an error in seconds and in words; null if the error has none. */
function toWait({ retryAfterSeconds: seconds }: AppError): { seconds: number; words: string } | null {
  if (seconds === undefined) return null;
  if (seconds === 1) return { seconds, words: 'a second' };
  return { seconds, words: seconds < 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes` };
}
