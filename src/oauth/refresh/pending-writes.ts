import { setTimeout as delay } from 'node:timers/promises';
import { SessionEndedError } from '../../errors.ts';
import type { Logger } from '../../observability/logger.ts';
import { StoreUnavailableError } from '../../redis/client.ts';
import { isSameGrant, type Grant, type Session, type SessionRecord } from '../../session/record.ts';
import type { SessionStore } from '../../session/store.ts';

const RETRY_MS = 250;
/** Maximum wait for Redis at shutdown, in ms. */
const SHUTDOWN_TIMEOUT_MS = 15_000;

export interface PendingWritesOptions {
  readonly store: SessionStore;
  /** SESSION_IDLE_SECONDS */
  readonly idleSeconds: number;
  readonly log: Logger;
}

interface PendingWrite {
  readonly before: Session;
  readonly record: SessionRecord;
  readonly outcome: Promise<boolean>;
}

/**
 * Stores refreshed grants in their session records. A refreshed grant must not be lost, because the old refresh token may no
 * longer work. A failed write is retried for as long as an unused session is kept.
 */
export function createPendingWrites({ store, idleSeconds, log }: PendingWritesOptions) {
  const pendingWrites = new Map<string, PendingWrite>();
  let shutdownAt = Infinity;

  const compareAndSet = async (before: Session, record: SessionRecord): Promise<Grant> => {
    for (let current = before; ;) {
      if ((await store.replace(current, record)) !== null) return record.grant;
      const found = (await store.peek(before.id))?.session;
      if (found === undefined) throw new SessionEndedError();
      if (!isSameGrant(found.record.grant, before.record.grant)) return found.record.grant;
      current = found; // it was only re-encrypted under another session key
    }
  };

  /** Retries a write. Resolves to true once the grant is stored or the session has ended, and to false after giving up. */
  const keepTrying = async (before: Session, record: SessionRecord): Promise<boolean> => {
    const giveUpAt = performance.now() + idleSeconds * 1_000;
    for (;;) {
      await delay(RETRY_MS);
      try {
        await compareAndSet(before, record); // also succeeds if a request has stored the grant in the meantime
        return true;
      } catch (error) {
        if (error instanceof SessionEndedError) return true;
        if (performance.now() < Math.min(giveUpAt, shutdownAt)) continue;
        log.error({ err: error }, 'refreshed grant not stored');
        return false;
      }
    }
  };

  return {
    /**
     * Replaces the record of `before` and resolves with the current grant. If the session has ended, drops the tokens and rejects with
     * SessionEndedError. If Redis is down, rejects with StoreUnavailableError and retries in the background.
     */
    async write(before: Session, record: SessionRecord): Promise<Grant> {
      try {
        return await compareAndSet(before, record);
      } catch (error) {
        if (error instanceof StoreUnavailableError) {
          const outcome = keepTrying(before, record).finally(() => {
            // By now, a later refresh may have a pending write.
            if (pendingWrites.get(before.id)?.outcome === outcome) pendingWrites.delete(before.id);
          });
          pendingWrites.set(before.id, { before, record, outcome });
        }
        throw error;
      }
    },

    /** Retries a session's pending write immediately. Returns null if no write is pending. Rejects like `write`. */
    retry(sessionId: string): Promise<Grant> | null {
      const pending = pendingWrites.get(sessionId);
      return pending === undefined ? null : compareAndSet(pending.before, pending.record);
    },

    /** Returns the result of `keepTrying` for a session's pending write, or null if no write is pending. */
    outcome: (sessionId: string): Promise<boolean> | null => pendingWrites.get(sessionId)?.outcome ?? null,

    /** Retries for up to 15 more seconds, then gives up. Resolves once no writes are pending. */
    async settle(): Promise<void> {
      shutdownAt = performance.now() + SHUTDOWN_TIMEOUT_MS;
      await Promise.allSettled([...pendingWrites.values()].map(async ({ outcome }) => outcome));
    },
  };
}
