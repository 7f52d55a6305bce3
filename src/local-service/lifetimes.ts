/** How long things stay in Redis, in seconds. The lifetimes an operator can change are in LocalServiceConfig. */

const DAY = 86_400;

/** A spent code or token is known for this long, so that its error can say "used" or "expired". */
export const REMEMBER_SPENT_SECONDS = DAY;

/** A refresh token, and the grant behind it, ends when it was not used for this long. */
export const REFRESH_IDLE_SECONDS = 90 * DAY;

/** Someone who signed in on the service's own page and did nothing there for this long signs in again. */
export const SIGN_IN_IDLE_SECONDS = DAY / 2;

/** A fault that nobody clears ends by itself. */
export const FAULT_SECONDS = DAY;

/** A `next` token is good for this long. */
export const NEXT_TOKEN_SECONDS = 3_600;

/** The key under which `next` tokens are encrypted is replaced when no list was paged for this long. */
export const NEXT_TOKEN_KEY_IDLE_SECONDS = 30 * DAY;
