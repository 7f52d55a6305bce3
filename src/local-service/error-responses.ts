import type { ErrorRequestHandler, Request, RequestHandler, Response } from 'express';
import { PROBLEMS } from '../errors.ts';
import { requestId } from '../http/request-context.ts';
import type { Logger } from '../observability/logger.ts';
import { StoreUnavailableError } from '../redis/client.ts';
import type { Pages } from './pages.ts';
import { MAX_BODY_SIZE } from './request-parameters.ts';

/** An error as defined by the service's interface. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly status: number;
  /** One of the API's error codes. */
  readonly code: string;
  readonly title: string;
  /** The `message` of an API error, or a line on a page. */
  readonly detail: string;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    title: string,
    options: { detail?: string; headers?: Readonly<Record<string, string>>; cause?: unknown } = {},
  ) {
    super(title, { cause: options.cause });
    this.status = status;
    this.code = code;
    this.title = title;
    this.detail = options.detail ?? title;
    this.headers = options.headers ?? {};
  }
}

/** Handlers for the three error formats: JSON from the API, HTML pages for browsers, and OAuth errors from the token endpoint. */
export interface ErrorHandlers {
  readonly api: ErrorRequestHandler;
  readonly page: ErrorRequestHandler;
  readonly token: ErrorRequestHandler;
}

/** Responds with errors in the API format: `{"code","message","details":[]}`. */
export function apiErrorHandler(log: Logger): ErrorRequestHandler {
  return errorHandler(log, (error, _req, res) => sendApiError(res, error));
}

export function pageErrorHandler(log: Logger, pages: Pages): ErrorRequestHandler {
  return errorHandler(log, (error, req, res) => {
    // If Redis is down, the page offers to retry the same URL.
    const retryAt = error.status === 503 ? req.originalUrl : undefined;
    res
      .status(error.status)
      .set(error.headers)
      .send(pages.failure(error, requestId(res), retryAt));
  });
}

export function sendApiError(res: Response, { status, headers, code, detail }: ServiceError): void {
  res.status(status).set(headers).json({ code, message: detail, details: [] });
}

/** Responds with 405 and the methods that this path supports. */
export function refuseMethod(allowed: string): RequestHandler {
  return () => {
    throw new ServiceError(405, 'METHOD_NOT_ALLOWED', 'This path does not support that method', {
      headers: { allow: allowed },
    });
  };
}

/** Responds with 404 to requests for paths without a route. */
export function refusePath(): RequestHandler {
  return () => {
    throw new ServiceError(404, 'PATH_NOT_FOUND', 'There is nothing at this path');
  };
}

/**
 * Converts any error to a ServiceError and passes it to `send`. A Redis failure becomes a 503 with `Retry-After`. An unknown
 * error becomes a 500; only the log shows the cause.
 */
function errorHandler(
  log: Logger,
  send: (error: ServiceError, req: Request, res: Response) => void,
): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    const serviceError = toServiceError(error);
    if (serviceError.status >= 500) {
      const cause = error instanceof StoreUnavailableError ? error.cause : error; // the error's own message is about sessions
      log.error({ requestId: requestId(res), err: cause }, 'request failed');
    }
    if (res.headersSent) next(error);
    else send(serviceError, req, res);
  };
}

function toServiceError(error: unknown): ServiceError {
  if (error instanceof StoreUnavailableError) {
    return new ServiceError(503, 'INTERNAL_SERVER_ERROR', 'The service is briefly unavailable', {
      detail: 'Try again in a moment.',
      headers: error.headers,
    });
  }
  if (error instanceof ServiceError) return error;
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 500;
  if (status === 413) {
    const title = `The body is larger than ${MAX_BODY_SIZE}`;
    return new ServiceError(413, 'REQUEST_TOO_LARGE', title);
  }
  if (status >= 400 && status < 500)
    return new ServiceError(status, 'REQUEST_INVALID', 'The request can’t be read');
  return new ServiceError(500, 'INTERNAL_SERVER_ERROR', PROBLEMS.internal_error.title);
}
