/** Fetches the status of the browser's session from Cloakroom. */
import { toSession, type SessionStatus } from './session-body.ts';

const TIMEOUT_MS = 10_000;

/**
 * Fetches the status of the browser's current session. Returns null if there is no valid response, because the session may
 * still be active. `extend` restarts the idle timeout; set it only if the user has pressed *Stay signed in*.
 */
export async function fetchSession({
  extend = false,
}: { readonly extend?: boolean } = {}): Promise<SessionStatus | null> {
  if (!navigator.onLine) return null;
  const sentAt = Date.now();
  try {
    const response = await fetch('/auth/session', {
      method: extend ? 'POST' : 'GET',
      headers: { accept: 'application/json', 'x-requested-with': 'fetch' },
      cache: 'no-store',
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
    if (!response.ok) return null;
    const serverNow = Date.parse(response.headers.get('date') ?? '');
    return toSession(await response.json(), serverNow, sentAt);
  } catch {
    return null; // offline, too slow, or another server responded
  }
}
