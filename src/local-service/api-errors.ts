import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import { AppError, StoreUnavailableError, toAppError } from '../platform/errors.ts';
import type { Logger } from '../platform/log.ts';
import { requestId } from '../platform/request-id.ts';

/**
 * Answers in the shape of the API's errors: `{"code","message","details":[]}`. Redis away is a 503 with
 * `Retry-After`; an unknown error is a 500 that says nothing of its cause, and goes to the log.
 */
export function apiErrorHandler(log: Logger): ErrorRequestHandler {
  return (error: unknown, _req, res, next) => {
    const designed = toServiceError(error);
    if (designed.status >= 500) log.error({ requestId: requestId(res), err: error }, 'request failed');
    if (res.headersSent) {
      next(error);
      return;
    }
    sendApiError(res, designed);
  };
}

function sendApiError(res: Response, error: AppError): void {
  res.status(error.status).set(error.headers);
  res.json({ code: error.code, message: error.detail, details: [] });
}

/** Any error as one that this service may show, on a page or as JSON; `code` is one of the API's. */
export function toServiceError(error: unknown): AppError {
  if (error instanceof StoreUnavailableError) {
    return new AppError(503, 'INTERNAL_SERVER_ERROR', 'The service is unavailable', {
      detail: 'The service can’t reach its store right now. Try again in a moment.',
      headers: error.headers,
    });
  }
  if (error instanceof AppError) return error;
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 500;
  if (status >= 400 && status < 500) {
    return new AppError(status, 'REQUEST_INVALID', 'The request can’t be read');
  }
  return new AppError(500, 'INTERNAL_SERVER_ERROR', toAppError(error).title);
}

/** Answers 405 with the methods that do work. */
export function refuseMethod(allowed: string): RequestHandler {
  return () => {
    throw new AppError(405, 'METHOD_NOT_ALLOWED', 'This path does not take that method', {
      headers: { allow: allowed },
    });
  };
}

/** Answers 404 to every path of the API that nothing else took. */
export function refusePath(): RequestHandler {
  return () => {
    throw new AppError(404, 'PATH_NOT_FOUND', 'There is nothing at this path');
  };
}
