/** Asks Cloakroom who is signed in, and until when. */

/**
 * A living session. Its moments are in ms by this browser's clock, however wrong that is.
 * @typedef {object} LivingSession
 * @property {true} signedIn
 * @property {string} name Tells this session from another: its last moment, which never changes.
 * @property {number} idleEndsAt When it ends unless it is used.
 * @property {number} lastsUntil When it ends whatever is done.
 */

const PATIENCE_MS = 10_000;

/**
 * The session that the browser has now; null where there was no answer, which says nothing of the session.
 * `extend` begins its idle time anew: only when the person has said so.
 * @param {{ readonly extend?: boolean }} [how]
 * @returns {Promise<LivingSession | { readonly signedIn: false } | null>}
 */
export async function askSession({ extend = false } = {}) {
  if (!navigator.onLine) return null;
  try {
    const answer = await fetch('/auth/session', {
      method: extend ? 'POST' : 'GET',
      headers: { accept: 'application/json', 'x-requested-with': 'fetch' },
      cache: 'no-store',
      signal: AbortSignal.timeout(PATIENCE_MS),
    });
    return answer.ok ? toSession(await answer.json(), Date.parse(answer.headers.get('date') ?? '')) : null;
  } catch {
    return null; // offline, too slow, or what answered was not Cloakroom
  }
}

/**
 * @param {unknown} body
 * @param {number} serverNow By the server's clock, to whole seconds; NaN where it did not say.
 */
function toSession(body, serverNow) {
  const { signedIn, expiresAt, idleExpiresAt } = /** @type {Record<string, unknown>} */ (body);
  if (signedIn === false) return /** @type {const} */ ({ signedIn });
  if (signedIn !== true || typeof expiresAt !== 'string' || typeof idleExpiresAt !== 'string') return null;
  // A Date is cut to whole seconds: by the later bound nobody is promised more than there is.
  const ahead = Number.isNaN(serverNow) ? 0 : Date.now() - (serverNow + 1_000);
  return {
    signedIn,
    name: expiresAt,
    idleEndsAt: Date.parse(idleExpiresAt) + ahead,
    lastsUntil: Date.parse(expiresAt) + ahead,
  };
}
