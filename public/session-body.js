/** The body of `/auth/session`, in the terms of this browser. */

/**
 * A session of a signed-in user. Times are in ms by this browser's clock, however wrong that clock is.
 * @typedef {object} ActiveSession
 * @property {true} signedIn
 * @property {string} name Tells this session from another: its latest possible end, which never changes.
 * @property {number} idleEndsAt When the session expires unless it is used.
 * @property {number} lastsUntil When the session ends in any case.
 */

/** @typedef {ActiveSession | { readonly signedIn: false }} SessionStatus */

/**
 * Reads the body of `/auth/session`; null where it has another form. `sentAt` is the time of the request, because the computer
 * may have slept before the response was read.
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
  // Date is cut to whole seconds. Assume the latest time within the second, so that no end is shown later than it comes.
  const ahead = Number.isNaN(serverNow) ? 0 : sentAt - (serverNow + 1_000);
  return { signedIn, name: expiresAt, idleEndsAt: idleEnd + ahead, lastsUntil: lastEnd + ahead };
}
