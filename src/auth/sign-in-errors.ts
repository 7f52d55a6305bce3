import { AppError, StoreUnavailableError } from '../platform/errors.ts';
import { GrantRefusedError } from './oauth-client.ts';
import { loginUrl } from './return-to.ts';

const TRY_AGAIN = 'Try again';

/** Unknown, used or expired `state`, or one that another browser began. */
export function attemptUnknown(): AppError {
  return new AppError(400, 'sign_in_attempt_unknown', 'This sign-in can’t be completed', {
    detail: 'It was completed before, took longer than ten minutes, or began in another browser.',
    action: { href: '/auth/login', label: TRY_AGAIN },
  });
}

/** The user said no at the service (RFC 6749 §4.1.2.1). */
export function accessDenied(returnTo: string): AppError {
  return new AppError(403, 'access_denied', 'Access was not allowed', {
    detail: 'You chose not to allow access at the service, so you are not signed in.',
    action: { href: loginUrl(returnTo), label: TRY_AGAIN },
  });
}

/** The service sent the browser back with another error; `error` comes from an address, so little of it is shown. */
export function authorizationFailed(error: string, returnTo: string): AppError {
  const shown = /^[\w.-]{1,64}$/.test(error) ? error : 'unknown error';
  return new AppError(502, 'authorization_failed', 'The service could not sign you in', {
    detail: `It answered with the error “${shown}”.`,
    action: { href: loginUrl(returnTo), label: TRY_AGAIN },
  });
}

/** The service sent the browser back with neither code nor error. */
export function codeMissing(returnTo: string): AppError {
  return new AppError(400, 'code_missing', 'The service’s answer is incomplete', {
    detail: 'It sent you back without a code to sign in with.',
    action: { href: loginUrl(returnTo), label: TRY_AGAIN },
  });
}

/** The exchange of the code failed, for whatever reason: the code is spent, so only a new sign-in helps. */
export function exchangeFailed(cause: unknown, returnTo: string): AppError {
  if (cause instanceof StoreUnavailableError) return cause;
  const refused = cause instanceof GrantRefusedError;
  return new AppError(502, refused ? 'code_refused' : 'token_endpoint_unavailable', 'Sign-in did not work', {
    detail: refused
      ? 'The service did not accept the sign-in that it had just confirmed.'
      : 'The service can’t be reached right now, or its answer made no sense.',
    action: { href: loginUrl(returnTo), label: TRY_AGAIN },
    cause,
  });
}
