/** Parses the body of `/auth/session` and converts its times to this browser's clock. */

/**
 * The session of a signed-in user. Times are in ms by this browser's clock, which may be wrong.
 * @typedef {object} ActiveSession
 * @property {true} signedIn
 * @property {string} name Identifies the session: its absolute expiry time, which never changes.
 * @property {number} idleEndsAt When the session expires if it is not used.
 * @property {number} lastsUntil When the session ends even if it is used.
 */

/** @typedef {ActiveSession | { readonly signedIn: false }} SessionStatus */

/**
 * Parses the body of `/auth/session`. Returns null if the body is invalid. Uses `sentAt`, the time of the request, because the
 * computer may have slept before it read the response.
 * @param {unknown} body
 * @param {number} serverNow By the server's clock, in whole seconds; NaN for a response without a Date.
 * @param {number} sentAt By this browser's clock.
 * @returns {SessionStatus | null}
 */
export function toSession(body, serverNow, sentAt) {
  const { signedIn, expiresAt, idleExpiresAt } = /** @type {Record<string, unknown>} */ (body ?? {});
  if (signedIn === false) return { signedIn };
  if (signedIn !== true || typeof expiresAt !== 'string' || typeof idleExpiresAt !== 'string') return null;
  const [idleEnd, lastEnd] = [Date.parse(idleExpiresAt), Date.parse(expiresAt)];
  if (Number.isNaN(idleEnd) || Number.isNaN(lastEnd)) return null;
  // The `Date` header is accurate to one second. Assume the end of that second, to avoid overestimating the session's lifetime.
  const ahead = Number.isNaN(serverNow) ? 0 : sentAt - (serverNow + 1_000);
  return { signedIn, name: expiresAt, idleEndsAt: idleEnd + ahead, lastsUntil: lastEnd + ahead };
}
