import type { ErrorRequestHandler, Request, Response } from 'express';
import { PROBLEMS, StoreUnavailableError } from '../errors.ts';
import type { Logger } from '../observability/logger.ts';
import { requestId } from '../http/request-context.ts';
import { LARGEST_FORM } from './form-body.ts';

/** An error in the terms of the service's interface: its `code` and `message` are for the client. */
export class ServiceError extends Error {
  override readonly name = 'ServiceError';
  readonly status: number;
  readonly code: string;
  readonly title: string;
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

/**
 * Answers whatever went wrong by `answer`, which sets the error's status and headers. Redis away is a 503 with
 * `Retry-After`; an unknown error is a 500 that says nothing of its cause, and goes to the log.
 */
export function answerErrors(
  log: Logger,
  answer: (error: ServiceError, req: Request, res: Response) => void,
): ErrorRequestHandler {
  return (error: unknown, req, res, next) => {
    const designed = toServiceError(error);
    if (designed.status >= 500) {
      const cause = error instanceof StoreUnavailableError ? error.cause : error; // its own words are the app's
      log.error({ requestId: requestId(res), err: cause }, 'request failed');
    }
    if (res.headersSent) {
      next(error);
      return;
    }
    answer(designed, req, res);
  };
}

/** Any error as one that this service may show, on a page or as JSON; `code` is one of the API's. */
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
    return new ServiceError(
      413,
      'REQUEST_TOO_LARGE',
      `The body is larger than the ${LARGEST_FORM} that are taken`,
    );
  }
  if (status >= 400 && status < 500) {
    return new ServiceError(status, 'REQUEST_INVALID', 'The request can’t be read');
  }
  return new ServiceError(500, 'INTERNAL_SERVER_ERROR', PROBLEMS.internal_error.title);
}
