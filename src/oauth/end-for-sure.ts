import { setTimeout as delay } from 'node:timers/promises';
import type { RequestContext } from '../http/request-context.ts';
import type { SessionStore } from '../session/store.ts';
import type { AuthDeps } from './routes.ts';

/** In ms: it is tried again after this time, and given up after that. */
const TIMES = { again: 1_000, giveUp: 600_000 };

/**
 * Ends the session before a sign-in. The new one stands, so that Redis going just now must not make the sign-in look failed;
 * and the old one must not stay. Resolves at once when it has ended, or when the first try has failed.
 */
export async function endForSure(
  { store, life, log }: Pick<AuthDeps, 'life' | 'log'> & { readonly store: Pick<SessionStore, 'end'> },
  id: string,
  by: RequestContext,
  times = TIMES,
): Promise<void> {
  const end = async () => {
    if (await store.end(id)) life.ended(id, 'signed_in_again', by);
  };
  const again = async () => {
    for (const giveUpAt = performance.now() + times.giveUp; ;) {
      await delay(times.again, undefined, { ref: false });
      try {
        await end();
        return;
      } catch (error) {
        if (performance.now() < giveUpAt) continue;
        log.error({ err: error }, 'the session before a sign-in could not be ended');
        return;
      }
    }
  };
  await end().catch((error: unknown) => {
    log.warn({ err: error }, 'the session before a sign-in is ended later');
    void again();
  });
}
