/** What Cloakroom says of a session, in the terms of this browser. */

/**
 * A living session. Its moments are in ms by this browser's clock, however wrong that is.
 * @typedef {object} LivingSession
 * @property {true} signedIn
 * @property {string} name Tells this session from another: its last moment, which never changes.
 * @property {number} idleEndsAt When it ends unless it is used.
 * @property {number} lastsUntil When it ends whatever is done.
 */

/**
 * What Cloakroom said of the session, by the clock of this browser; null where it is nothing that Cloakroom says.
 * @param {unknown} body
 * @param {number} serverNow By the server's clock, to whole seconds; NaN where it did not say.
 * @param {number} now By this browser's clock.
 */
export function toSession(body, serverNow, now) {
  const { signedIn, expiresAt, idleExpiresAt } = /** @type {Record<string, unknown>} */ (body ?? {});
  if (signedIn === false) return /** @type {const} */ ({ signedIn });
  if (signedIn !== true || typeof expiresAt !== 'string' || typeof idleExpiresAt !== 'string') return null;
  const [idleEnd, lastEnd] = [Date.parse(idleExpiresAt), Date.parse(expiresAt)];
  if (Number.isNaN(idleEnd) || Number.isNaN(lastEnd)) return null;
  // A Date is cut to whole seconds: by the later bound nobody is promised more than there is.
  const ahead = Number.isNaN(serverNow) ? 0 : now - (serverNow + 1_000);
  return {
    signedIn,
    name: expiresAt,
    idleEndsAt: idleEnd + ahead,
    lastsUntil: lastEnd + ahead,
  };
}
