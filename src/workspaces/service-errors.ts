import { STATUS_CODES } from 'node:http';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import { AppError, type AppErrorOptions, type ProblemCode } from '../errors.ts';

const LONGEST_PAUSE_SECONDS = 3_600;

/** The service responded with another status than 200. None of them ends the session. */
export class ServiceAnswerError extends AppError {
  override readonly name = 'ServiceAnswerError';
  readonly serviceStatus: number;

  constructor(serviceStatus: number, code: ProblemCode, options?: AppErrorOptions) {
    super(code, options);
    this.serviceStatus = serviceStatus;
  }
}

/**
 * Whether the service no longer takes the `next` cursor of the request (`NEXT_TOKEN_EXPIRED`). The interface gives no
 * status for that; for our requests, a 400 can mean nothing else.
 */
export function isExpiredToken(error: unknown): boolean {
  return error instanceof ServiceAnswerError && error.serviceStatus === 400;
}

/** Maps a status of the service other than 200. `now` is in ms since the epoch. */
export function toServiceAnswerError(
  status: number,
  headers: IncomingHttpHeaders,
  now: number,
): ServiceAnswerError {
  switch (status) {
    case 401:
      return new ServiceAnswerError(status, 'service_refuses_sign_in');
    case 403:
      return new ServiceAnswerError(status, 'permission_missing');
    case 404:
      return new ServiceAnswerError(status, 'list_not_found');
    case 429:
      return new ServiceAnswerError(status, 'service_rate_limited', {
        retryAfterSeconds: toPauseSeconds(headers, now),
      });
    default:
      return new ServiceAnswerError(status, 'service_failed', {
        cause: new Error(`the service answered ${status} (${STATUS_CODES[status] ?? 'unknown'})`),
      });
  }
}

/** From `Retry-After` in either form (RFC 9110 §10.2.3), or else from `x-ratelimit-reset` in epoch seconds. */
function toPauseSeconds(headers: IncomingHttpHeaders, now: number): number {
  const [retryAfter, reset] = [headers['retry-after'], headers['x-ratelimit-reset']].map(String);
  const candidates = [
    Number(retryAfter),
    (Date.parse(retryAfter ?? '') - now) / 1_000,
    Number(reset) - now / 1_000,
  ];
  const seconds = candidates.find(Number.isFinite) ?? 1;
  return Math.min(Math.max(1, Math.ceil(seconds)), LONGEST_PAUSE_SECONDS);
}

/**
 * No answer at all, or one that broke off: out of time, by our own clock (`timedOut`) or the connection's, or a service
 * that can't be reached.
 */
export function toServiceFailure(cause: unknown, timedOut: boolean): AppError {
  const code = timedOut || isConnectionTimeout(cause) ? 'service_timeout' : 'service_unreachable';
  const detail = 'Nothing is lost, and you are still signed in. Try again in a few minutes.';
  return new AppError(code, { detail, cause });
}

function isConnectionTimeout(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return /^UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT$/.test(code);
}

/** A 200 that is no page of a list; `why` is for the log. */
export function toUnreadableAnswer(why: string, cause?: unknown): AppError {
  return new AppError('service_response_unreadable', { cause: new Error(why, { cause }) });
}
