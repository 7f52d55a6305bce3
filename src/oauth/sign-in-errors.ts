import { AppError, StoreUnavailableError } from '../errors.ts';
import { ForeignAnswerError, GrantRefusedError } from './client.ts';
import { toLoggedOAuthError } from './oauth-errors.ts';
import { loginUrl } from './return-to.ts';

const TRY_AGAIN = 'Try again';

/** Unknown, used or expired `state`, or one that another browser began. */
export function attemptUnknown(): AppError {
  return new AppError(400, 'sign_in_attempt_unknown', 'This sign-in can’t be completed', {
    detail:
      'It was completed before, took longer than ten minutes, or began in another browser or at another address of this site. Nothing is lost: begin again.',
    action: { href: '/auth/login', label: TRY_AGAIN },
  });
}

/** So many sign-ins have begun from one address that one more is not taken for some seconds. */
export function tooManySignIns(seconds: number): AppError {
  return new AppError(429, 'too_many_sign_ins', 'Too many sign-ins at once', {
    detail:
      'Very many sign-ins have begun from your network in the last minutes. Whoever is signed in stays so, and nothing is lost.',
    headers: { 'retry-after': String(seconds) },
  });
}

/** The user said no at the service (RFC 6749 §4.1.2.1). */
export function accessDenied(returnTo: string): AppError {
  return new AppError(403, 'access_denied', 'Access was not allowed', {
    detail: 'You chose not to allow access, so nothing has changed.',
    action: { href: loginUrl(returnTo), label: TRY_AGAIN },
  });
}

/** The service sent the browser back with another error; `error` comes from an address, so little of it is shown. */
export function authorizationFailed(error: string, returnTo: string): AppError {
  const shown = /^[\w.-]{1,64}$/.test(error) ? error : 'unknown error';
  return new AppError(502, 'authorization_failed', 'The service could not sign you in', {
    detail: `The service reported a problem (“${shown}”). Nothing is lost. Try again in a few minutes.`,
    action: { href: loginUrl(returnTo), label: TRY_AGAIN },
    cause: new Error(`the service sent the browser back with ${toLoggedOAuthError(error)}`),
  });
}

/** The service sent the browser back with neither code nor error. */
export function codeMissing(returnTo: string): AppError {
  return new AppError(400, 'code_missing', 'Sign-in did not work', {
    detail: 'The service sent you back before your sign-in was finished. Nothing is lost: try again.',
    action: { href: loginUrl(returnTo), label: TRY_AGAIN },
  });
}

/** What sent the browser back was no answer of the service; anybody can write such an address. */
function answerForeign(cause: ForeignAnswerError, returnTo: string): AppError {
  return new AppError(502, 'authorization_failed', 'Sign-in did not work', {
    detail: 'What sent you back here was not an answer that the service gives. Nothing is lost: try again.',
    action: { href: loginUrl(returnTo), label: TRY_AGAIN },
    cause,
  });
}

/** The exchange of the code failed, for whatever reason: the code may be spent, so only a new sign-in helps. */
export function exchangeFailed(cause: unknown, returnTo: string): AppError {
  if (cause instanceof StoreUnavailableError) return cause;
  if (cause instanceof ForeignAnswerError) return answerForeign(cause, returnTo);
  const refused = cause instanceof GrantRefusedError;
  return new AppError(502, refused ? 'code_refused' : 'token_endpoint_unavailable', 'Sign-in did not work', {
    detail: refused
      ? 'The service confirmed your sign-in, but then did not accept it. Nothing is lost: try again.'
      : 'The service did not answer as it should. Nothing is lost. Try again in a few minutes.',
    action: { href: loginUrl(returnTo), label: TRY_AGAIN },
    cause,
  });
}
