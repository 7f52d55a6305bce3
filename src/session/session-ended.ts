import { AppError } from '../platform/errors.ts';

/** The session, or the grant behind it, has ended: only signing in again helps. */
export class SessionEndedError extends AppError {
  override readonly name = 'SessionEndedError';

  constructor() {
    super(401, 'session_expired', 'Your session has ended', { detail: 'Sign in again to go on.' });
  }
}
