import { STATUS_CODES } from 'node:http';
import type { IncomingHttpHeaders } from 'undici/types/header.js';
import { loginUrl } from '../oauth/return-to.ts';
import { AppError } from '../errors.ts';
import type { ErrorDetails } from '../errors.ts';

const NOTHING_LOST = 'Nothing is lost, and you are still signed in.';
const SIGN_IN_AGAIN = (page: string) => ({ href: loginUrl(page), label: 'Sign in again' });
const LONGEST_PAUSE_SECONDS = 3_600;

/** The service answered, but with no page of a list: none of its statuses ends a session. */
export class ServiceAnswerError extends AppError {
  override readonly name = 'ServiceAnswerError';
  /** What the service answered. */
  readonly serviceStatus: number;

  constructor(serviceStatus: number, status: number, code: string, title: string, details: ErrorDetails) {
    super(status, code, title, details);
    this.serviceStatus = serviceStatus;
  }
}

/**
 * Whether the service no longer takes the `next` token that it was asked with (`NEXT_TOKEN_EXPIRED`). The interface gives no
 * status for that; for what we ask, a 400 can mean nothing else.
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
      return new ServiceAnswerError(
        401,
        502,
        'service_refuses_sign_in',
        'The service no longer accepts your sign-in',
        {
          detail: 'Nothing is lost. Sign in again to go on; if that changes nothing, try again later.',
          action: SIGN_IN_AGAIN,
        },
      );
    case 403:
      return new ServiceAnswerError(403, 403, 'permission_missing', 'Cloakroom may not show you this list', {
        detail: `The service has not allowed it. ${NOTHING_LOST} Sign in again and allow access; if that changes nothing, ask for help.`,
        action: SIGN_IN_AGAIN,
      });
    case 404:
      return new ServiceAnswerError(404, 404, 'list_not_found', 'There is nothing here', {
        detail: `It may have been removed, or it is no longer open to you. You are still signed in.`,
      });
    case 429: {
      const seconds = toPauseSeconds(headers, now);
      return new ServiceAnswerError(429, 503, 'service_rate_limited', 'The service asks for a short pause', {
        detail: `It is very busy right now. ${NOTHING_LOST}`,
        headers: { 'retry-after': String(seconds) },
      });
    }
    default: {
      const name = STATUS_CODES[status];
      return new ServiceAnswerError(status, 502, 'service_failed', 'The service could not give this page', {
        detail: `It has a problem of its own. ${NOTHING_LOST} Try again in a few minutes.`,
        cause: new Error(`the service answered ${status}${name === undefined ? '' : ` (${name})`}`),
      });
    }
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
  if (timedOut || isConnectionTimeout(cause)) {
    return new AppError(504, 'service_timeout', 'The service takes too long', {
      detail: `It did not answer in time. ${NOTHING_LOST} Try again in a few minutes.`,
      cause,
    });
  }
  return new AppError(502, 'service_unreachable', 'The service can’t be reached', {
    detail: `The connection to it failed. ${NOTHING_LOST} Try again in a few minutes.`,
    cause,
  });
}

function isConnectionTimeout(cause: unknown): boolean {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  return /^UND_ERR_(CONNECT|HEADERS|BODY)_TIMEOUT$/.test(code);
}

/** A 200 that is no page of a list; `why` is for the log. */
export function toUnreadableAnswer(why: string, cause?: unknown): AppError {
  return new AppError(502, 'service_answer_unreadable', 'The service sent something unexpected', {
    detail: `This page can’t be shown because of it. ${NOTHING_LOST} Try again in a few minutes.`,
    cause: new Error(why, { cause }),
  });
}
