import { STATUS_CODES } from 'node:http';
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { inWords } from '../durations.ts';
import { AppError, toAppError } from '../errors.ts';
import type { ErrorAction } from '../errors.ts';
import type { Logger } from '../observability/logger.ts';
import { sendProblem } from './problem.ts';
import { requestId } from './request-id.ts';
import { returnPathOf } from './return-path.ts';
import { frameOf } from './site-frame.ts';
import type { Render } from './templates.ts';

/** Passes on that there is no such page: the last handler before the error pages. */
export const pageNotFound: RequestHandler = (_req, _res, next) => {
  next(noSuchPage());
};

/** Refuses TRACE (RFC 9110 §9.3.8): it would show a page headers that the browser hides from it. */
export const refuseTrace: RequestHandler = (req, _res, next) => {
  if (req.method !== 'TRACE') next();
  else
    next(
      new AppError(405, 'method_not_allowed', 'TRACE is not allowed', {
        headers: { allow: 'GET, HEAD, POST' },
      }),
    );
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
    const action = typeof error.action === 'function' ? error.action(returnPathOf(req, res)) : error.action;
    const ways = toWays(error, req, action, signedIn ? WORKSPACES : START);
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
    const error = isClientError(thrown) ? toRefusal(thrown.status) : toAppError(thrown);
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

/** Express and its parsers mark what the caller did wrong with a status; ours carry their own words. */
function isClientError(error: unknown): error is { readonly status: number } {
  if (!(error instanceof Error) || error instanceof AppError || !('status' in error)) return false;
  return typeof error.status === 'number' && error.status >= 400 && error.status < 500;
}

function toRefusal(status: number): AppError {
  if (status === 404) return noSuchPage();
  const name = STATUS_CODES[status] ?? 'Bad Request';
  const code = name.toLowerCase().replaceAll(/[^a-z]+/g, '_');
  const unreadable = status === 400;
  return new AppError(status, code, unreadable ? 'This request can’t be read' : name, {
    detail: unreadable
      ? 'Its address may be cut off or mistyped. Nothing has been changed.'
      : 'It was refused as it is. Nothing has been changed.',
  });
}

function noSuchPage(): AppError {
  return new AppError(404, 'page_not_found', 'There is no such page', {
    detail: 'The address may be mistyped, or the page has moved.',
  });
}

const START: ErrorAction = { href: '/', label: 'Go to the start page' };
/** The start page of who is signed in: `/` only leads there. */
const WORKSPACES: ErrorAction = { href: '/workspaces', label: 'Go to your workspaces' };

/**
 * The ways on, the likeliest first: the error's own, or to try a page again that failed on our side, and then the start
 * page, unless it is what failed.
 */
function toWays(
  error: AppError,
  req: Request,
  action: ErrorAction | undefined,
  start: ErrorAction,
): ErrorAction[] {
  const startFailed = pathOf(req) === start.href;
  const first = action ?? (startFailed || isRepeatable(error, req) ? tryAgain(req) : start);
  return first === start || startFailed ? [first] : [first, start];
}

/** A page of ours; `//host` and `/\host` lead to another site. */
function isRepeatable({ status }: AppError, { method, originalUrl }: Request): boolean {
  return (
    (status >= 500 || status === 429) &&
    (method === 'GET' || method === 'HEAD') &&
    /^\/(?![/\\])/.test(originalUrl)
  );
}

function tryAgain({ originalUrl }: Request): ErrorAction {
  return { href: originalUrl, label: 'Try again' };
}

/** How long to wait before the page is tried again, where the error says (RFC 9110 §10.2.3, in seconds). */
function toWait({ headers }: AppError): { readonly seconds: number; readonly words: string } | null {
  const seconds = Number(headers['retry-after']);
  return Number.isInteger(seconds) && seconds > 0 ? { seconds, words: inWords(seconds) } : null;
}

function pathOf({ originalUrl }: Request): string {
  return originalUrl.split('?', 1)[0] ?? '';
}
