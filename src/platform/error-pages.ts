import { STATUS_CODES } from 'node:http';
import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { AppError, toAppError } from './errors.ts';
import type { ErrorAction } from './errors.ts';
import type { Logger } from './log.ts';
import { sendProblem } from './problem.ts';
import { requestId } from './request-id.ts';
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
 * Turns whatever went wrong into a page with a way on and the request id, or into problem+json for a caller who
 * prefers JSON; never a stack. Where an answer has begun, the connection is cut: half a page must not look whole.
 * `isSignedIn` decides whether the page offers to sign out; it is asked with Redis away, too, and must not throw.
 */
export function createErrorPages(deps: {
  readonly render: Render;
  readonly log: Logger;
  readonly isSignedIn: (req: Request) => boolean;
}): ErrorRequestHandler {
  const { render, log, isSignedIn } = deps;

  const toPage = (error: AppError, req: Request, res: Response) =>
    render('error', {
      title: error.title,
      signedIn: isSignedIn(req),
      status: error.status,
      detail: error.detail,
      action: error.action ?? toAction(error, req),
      requestId: requestId(res),
    });

  // Express tells error handlers by their four parameters.
  return (thrown: unknown, req, res, _next) => {
    const error = isClientError(thrown) ? toRefusal(thrown.status) : toAppError(thrown);
    if (error.status >= 500) {
      const { code, detail } = error;
      log.error({ err: thrown, requestId: requestId(res), code, detail }, 'request failed');
    }
    if (res.headersSent || prefersJson(req)) {
      sendProblem(res, error);
      return;
    }
    try {
      const page = toPage(error, req, res);
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
    detail: unreadable ? 'Its address or content is malformed.' : 'The request was refused as it is.',
  });
}

function noSuchPage(): AppError {
  return new AppError(404, 'page_not_found', 'There is no such page', {
    detail: 'The address may be mistyped, or the page has moved.',
  });
}

/** A page that failed on our side may work the next time; anything else begins again at the start. */
function toAction(error: AppError, req: Request): ErrorAction {
  const repeatable = error.status >= 500 && (req.method === 'GET' || req.method === 'HEAD');
  // `//host` and `/\host` lead to another site.
  const ours = /^\/(?![/\\])/.test(req.originalUrl);
  return repeatable && ours
    ? { href: req.originalUrl, label: 'Try again' }
    : { href: '/', label: 'Go to the start page' };
}
