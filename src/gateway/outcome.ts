import type { AppError } from '../platform/errors.ts';
import { toAppError } from '../platform/errors.ts';
import { SessionEndedError } from '../session/session-ended.ts';
import { bodyTooLarge, serviceTimeout, serviceUnreachable, sessionExpired } from './problems.ts';
import { BodyStalledError, BodyTooLargeError } from './request-body.ts';
import { CallAbortedError, ServiceCallError } from './service-call.ts';

/** For the `extensions` of a 401: where a page sends the user. */
export const LOGIN = { extensions: { loginUrl: '/auth/login' } };

/** The service's answer broke off after its headers had gone out. */
export class CutOffError extends Error {
  override readonly name = 'CutOffError';
}

const TIMEOUTS = new Set(['UND_ERR_HEADERS_TIMEOUT', 'UND_ERR_BODY_TIMEOUT', 'UND_ERR_CONNECT_TIMEOUT']);

/** The gateway's answer to what went wrong; null where only cutting the connection says it right. */
export function toAnswer(error: unknown): AppError | null {
  if (
    error instanceof CutOffError ||
    error instanceof CallAbortedError ||
    error instanceof BodyStalledError
  ) {
    return null;
  }
  if (error instanceof SessionEndedError) return sessionExpired(LOGIN);
  if (error instanceof BodyTooLargeError) return bodyTooLarge(error.mostBytes);
  if (error instanceof ServiceCallError) {
    return TIMEOUTS.has(error.code) ? serviceTimeout({ cause: error }) : serviceUnreachable({ cause: error });
  }
  return toAppError(error);
}
