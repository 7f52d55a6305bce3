import type { ErrorRequestHandler, RequestHandler, Response } from 'express';
import type { Logger } from '../observability/logger.ts';
import { ServiceError, answerErrors } from './service-errors.ts';

/** Answers in the shape of the API's errors: `{"code","message","details":[]}`. */
export function apiErrorHandler(log: Logger): ErrorRequestHandler {
  return answerErrors(log, (error, _req, res) => sendApiError(res, error));
}

/** Answers with the error in the API's shape. */
export function sendApiError(res: Response, { status, headers, code, detail }: ServiceError): void {
  res.status(status).set(headers).json({ code, message: detail, details: [] });
}

/** Answers 405 with the methods that do work. */
export function refuseMethod(allowed: string): RequestHandler {
  return () => {
    throw new ServiceError(405, 'METHOD_NOT_ALLOWED', 'This path does not take that method', {
      headers: { allow: allowed },
    });
  };
}

/** Answers 404 to every path of the API that nothing else took. */
export function refusePath(): RequestHandler {
  return () => {
    throw new ServiceError(404, 'PATH_NOT_FOUND', 'There is nothing at this path');
  };
}
