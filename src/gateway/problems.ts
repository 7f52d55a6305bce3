import { AppError } from '../errors.ts';
import type { ErrorDetails } from '../errors.ts';

/** The gateway's own answers (contract, section 4); `token_endpoint_unavailable` and others come with their cause. */
function problem(status: number, code: string, title: string) {
  return (details: ErrorDetails = {}) => new AppError(status, code, title, details);
}

const CLOSE = { connection: 'close' };

export const pathNotAllowed = problem(404, 'path_not_allowed', 'This path is not part of the API');
export const methodNotAllowed = problem(405, 'method_not_allowed', 'This method is not allowed');
export const badRequestTarget = problem(400, 'bad_request_target', 'This address is malformed');
export const serviceUnreachable = problem(502, 'service_unreachable', 'The service can’t be reached');
export const serviceTimeout = problem(504, 'service_timeout', 'The service did not answer in time');
const signInRequiredWith = problem(401, 'sign_in_required', 'Sign in to call the API');
const sessionExpiredWith = problem(401, 'session_expired', 'Your session has ended');
const bodyTooLargeWith = problem(413, 'body_too_large', 'The request body is too large');
const tooBusyWith = problem(503, 'too_busy', 'Too many calls at once');
const drainingWith = problem(503, 'draining', 'This server is shutting down');

/** Where a page sends the user to sign in. */
const LOGIN = { extensions: { loginUrl: '/auth/login' } };

/** No cookie, or one that is not ours. */
export function signInRequired(): AppError {
  return signInRequiredWith(LOGIN);
}

/** Our cookie, but its session or the grant behind it has ended. */
export function sessionExpired(detail = 'Sign in again to go on.'): AppError {
  return sessionExpiredWith({ ...LOGIN, detail });
}

export function bodyTooLarge(mostBytes: number): AppError {
  return bodyTooLargeWith({ detail: `At most ${mostBytes} bytes are forwarded.` });
}

/** Over a bound on calls in flight. */
export function tooBusy(detail: string): AppError {
  return tooBusyWith({ detail, headers: { 'retry-after': '1' } });
}

export function draining(): AppError {
  return drainingWith({
    detail: 'Try again: another one answers.',
    headers: { ...CLOSE, 'retry-after': '1' },
  });
}
