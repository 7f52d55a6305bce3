/** Asks Cloakroom who is signed in, and until when. */
import { toSession } from './living-session.js';

const PATIENCE_MS = 10_000;

/**
 * The session that the browser has now; null where there was no answer, which says nothing of the session.
 * `extend` begins its idle time anew: only when the person has said so.
 * @param {{ readonly extend?: boolean }} [how]
 * @returns {Promise<import('./living-session.js').LivingSession | { readonly signedIn: false } | null>}
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
    if (!answer.ok) return null;
    const serverNow = Date.parse(answer.headers.get('date') ?? '');
    return toSession(await answer.json(), serverNow, Date.now());
  } catch {
    return null; // offline, too slow, or what answered was not Cloakroom
  }
}
