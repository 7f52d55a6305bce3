import { STATUS_CODES } from 'node:http';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import { AppError, type AppErrorOptions, type ProblemCode } from '../errors.ts';
import { toServiceErrorCode } from '../upstream/connection-pool.ts';

const MAX_PAUSE_SECONDS = 3_600;

/** The error for a response from the service with a status other than 200. The error never ends the session. */
export class ServiceStatusError extends AppError {
  override readonly name = 'ServiceStatusError';
  readonly serviceStatus: number;

  constructor(serviceStatus: number, code: ProblemCode, options?: AppErrorOptions) {
    super(code, options);
    this.serviceStatus = serviceStatus;
  }
}

/**
 * Returns whether the service refused a cursor as expired (`NEXT_TOKEN_EXPIRED`). The interface doesn't specify the status.
 * Cloakroom's other parameters are always valid, so a 400 can only refer to the cursor.
 */
export function isExpiredCursor(error: unknown): boolean {
  return error instanceof ServiceStatusError && error.serviceStatus === 400;
}

/** Returns the error for a response with a status other than 200. `now` is in ms since the epoch. */
export function toStatusError(status: number, headers: IncomingHttpHeaders, now: number): ServiceStatusError {
  switch (status) {
    case 401:
      return new ServiceStatusError(status, 'service_refuses_sign_in');
    case 403:
      return new ServiceStatusError(status, 'permission_missing');
    case 404:
      return new ServiceStatusError(status, 'list_not_found');
    case 429:
      return new ServiceStatusError(status, 'service_rate_limited', {
        retryAfterSeconds: toPauseSeconds(headers, now),
      });
    default:
      return new ServiceStatusError(status, 'service_failed', {
        cause: new Error(`the service responded with ${status} ${STATUS_CODES[status] ?? ''}`.trimEnd()),
      });
  }
}

/** Reads `Retry-After` in either form (RFC 9110 §10.2.3) or, if absent, `x-ratelimit-reset` in epoch seconds. */
function toPauseSeconds(headers: IncomingHttpHeaders, now: number): number {
  const [retryAfter = '', reset] = [headers['retry-after'], headers['x-ratelimit-reset']].map(String);
  const candidates = [
    Number(retryAfter),
    (Date.parse(retryAfter) - now) / 1_000,
    Number(reset) - now / 1_000,
  ];
  const seconds = candidates.find(Number.isFinite) ?? 1;
  return Math.min(Math.max(1, Math.ceil(seconds)), MAX_PAUSE_SECONDS);
}

/** Returns the error for a request without a complete response. `timedOut` means that Cloakroom's own timeout fired. */
export function toConnectionError(cause: unknown, timedOut: boolean): AppError {
  const code = timedOut ? 'service_timeout' : toServiceErrorCode(cause);
  const detail = 'You are still signed in. Try again in a few minutes.';
  return new AppError(code, { detail, cause });
}

/** Returns the error for a 200 response whose body is not a page of a list. `reason` appears only in the log. */
export function toUnreadableResponse(reason: string): AppError {
  return new AppError('service_response_unreadable', { cause: new Error(reason) });
}
