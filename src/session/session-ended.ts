import { AppError } from '../errors.ts';

/** The session, or the grant behind it, has ended: only signing in again helps. */
export class SessionEndedError extends AppError {
  override readonly name = 'SessionEndedError';

  /** `why` is a sentence for the user, where more is known than that it has ended. */
  constructor(why?: string) {
    const detail = [why, 'Sign in again to go on.'].filter(Boolean).join(' ');
    super(401, 'session_expired', 'Your session has ended', { detail });
  }
}
