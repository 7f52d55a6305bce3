import type { ErrorRequestHandler } from 'express';
import type { Logger } from '../platform/log.ts';
import { requestId } from '../platform/request-id.ts';
import { toServiceError } from './api-errors.ts';
import type { Pages } from './pages.ts';

/** Answers a browser with a page instead of JSON; an unknown error says nothing of its cause. */
export function pageErrorHandler(log: Logger, pages: Pages): ErrorRequestHandler {
  return (error: unknown, _req, res, next) => {
    const designed = toServiceError(error);
    if (designed.status >= 500) log.error({ requestId: requestId(res), err: error }, 'request failed');
    if (res.headersSent) {
      next(error);
      return;
    }
    res.status(designed.status).set(designed.headers);
    res.send(pages.failure(designed, requestId(res)));
  };
}
