import type { ErrorRequestHandler } from 'express';
import type { Logger } from '../observability/logger.ts';
import { requestId } from '../http/request-context.ts';
import type { Pages } from './pages.ts';
import { answerErrors } from './service-errors.ts';

/** Answers a browser with a page instead of JSON. */
export function pageErrorHandler(log: Logger, pages: Pages): ErrorRequestHandler {
  return answerErrors(log, (error, req, res) => {
    // Redis away, at an address that shows its form anew.
    const here = error.status === 503 ? req.originalUrl : undefined;
    res
      .status(error.status)
      .set(error.headers)
      .send(pages.failure(error, requestId(res), here));
  });
}
