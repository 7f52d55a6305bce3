/** Parses the body of `/auth/session` and converts its times to this browser's clock. */

/** The session of a signed-in user. Times are in ms by this browser's clock, which may be wrong. */
export interface ActiveSession {
  readonly signedIn: true;
  /** Identifies the session: its absolute expiry time, which never changes. */
  readonly name: string;
  /** When the session expires if it is not used. */
  readonly idleEndsAt: number;
  /** When the session ends even if it is used. */
  readonly lastsUntil: number;
}

export type SessionStatus = ActiveSession | { readonly signedIn: false };

/**
 * Parses the body of `/auth/session`. Returns null if the body is invalid. Uses `sentAt`, the time of the request, because the
 * computer may have slept before it read the response.
 * @param serverNow By the server's clock, in whole seconds; NaN for a response without a Date.
 * @param sentAt By this browser's clock.
 */
export function toSession(body: unknown, serverNow: number, sentAt: number): SessionStatus | null {
  const { signedIn, expiresAt, idleExpiresAt } = (body ?? {}) as Record<string, unknown>;
  if (signedIn === false) return { signedIn };
  if (signedIn !== true || typeof expiresAt !== 'string' || typeof idleExpiresAt !== 'string') return null;
  const [idleEnd, lastEnd] = [Date.parse(idleExpiresAt), Date.parse(expiresAt)];
  if (Number.isNaN(idleEnd) || Number.isNaN(lastEnd)) return null;
  // The `Date` header is accurate to one second. Assume the end of that second, to avoid overestimating the session's lifetime.
  const ahead = Number.isNaN(serverNow) ? 0 : sentAt - (serverNow + 1_000);
  return { signedIn, name: expiresAt, idleEndsAt: idleEnd + ahead, lastsUntil: lastEnd + ahead };
}
