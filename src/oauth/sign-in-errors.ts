import { AppError, StoreUnavailableError } from '../errors.ts';
import { ForeignAnswerError, GrantRefusedError } from './client.ts';
import { toLoggedOAuthError } from './oauth-errors.ts';

/** The service sent the browser back with an error; it comes from an address, so little of it is shown. */
export function authorizationFailed(error: string, returnTo: string): AppError {
  const shown = /^[\w.-]{1,64}$/.test(error) ? error : 'unknown error';
  return new AppError('authorization_failed', {
    detail: `The service reported a problem (“${shown}”). Nothing is lost. Try again in a few minutes.`,
    returnTo,
    cause: new Error(`the service sent the browser back with ${toLoggedOAuthError(error)}`),
  });
}

/** The exchange of the code failed. The code may have been used, so only a new sign-in helps. */
export function exchangeFailed(cause: unknown, returnTo: string): AppError {
  if (cause instanceof StoreUnavailableError) return cause;
  if (cause instanceof ForeignAnswerError) {
    // Anybody can write such an address.
    return new AppError('authorization_failed', {
      detail: 'What sent you back here was not a response of the service. Nothing is lost: try again.',
      returnTo,
      cause,
    });
  }
  const code = cause instanceof GrantRefusedError ? 'code_refused' : 'code_exchange_failed';
  return new AppError(code, { returnTo, cause });
}
