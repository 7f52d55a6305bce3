import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnavailableError } from '../../errors.ts';
import type { Logger } from '../../observability/logger.ts';
import { isSameGrant } from '../../session/record.ts';
import type { Grant, SessionRecord, Session } from '../../session/record.ts';
import { SessionEndedError } from '../../errors.ts';
import type { SessionStore } from '../../session/store.ts';

/**
 * Brings renewed grants into the session record. From the token endpoint's answer on they must not be lost: the old
 * refresh token may be worth nothing any more.
 */
export interface RenewedGrants {
  /**
   * Puts a renewed record where `before` was read; gives the grant that stands there now. Rejects with
   * SessionEndedError, and the late tokens are dropped; or with StoreUnavailableError, and then goes on by itself.
   */
  store(before: Session, record: SessionRecord): Promise<Grant>;
  /** Stores what Redis has not taken yet; null where nothing of the session waits. Rejects like `store`. */
  offerAgain(sessionId: string): Promise<Grant> | null;
  /** Null where nothing of the session waits; else tells, once that is over, whether its outcome stands in Redis. */
  outcome(sessionId: string): Promise<boolean> | null;
  /** Gives up, after some more seconds, what Redis does not take; resolves when nothing waits any more. */
  settle(): Promise<void>;
}

const OFFER_AGAIN_MS = 250;
/** Whoever shuts down does not wait for Redis any longer. */
const SETTLES_WITHIN_MS = 15_000;

interface Unstored {
  readonly before: Session;
  readonly record: SessionRecord;
  readonly outcome: Promise<boolean>;
}

/** Offers a grant for as long as its session may stand in Redis without use. */
export function createRenewedGrants(store: SessionStore, idleSeconds: number, log: Logger): RenewedGrants {
  const waiting = new Map<string, Unstored>();
  let settlesAt = Infinity;

  const put = async (before: Session, record: SessionRecord): Promise<Grant> => {
    for (let current = before; ;) {
      if ((await store.replace(current, record)) !== null) return record.grant;
      const again = (await store.peek(before.id))?.ticket;
      if (again === undefined) throw new SessionEndedError();
      if (!isSameGrant(again.record.grant, before.record.grant)) return again.record.grant;
      current = again; // only encrypted again, under another session key
    }
  };

  const keepOffering = async (before: Session, record: SessionRecord): Promise<boolean> => {
    const giveUpAt = performance.now() + idleSeconds * 1_000;
    for (;;) {
      await delay(OFFER_AGAIN_MS);
      try {
        await put(before, record); // stored by a request meanwhile, this finds the very grant
        return true;
      } catch (error) {
        if (error instanceof SessionEndedError) return true;
        if (performance.now() < Math.min(giveUpAt, settlesAt)) continue;
        log.error({ err: error }, 'a renewed grant could not be stored');
        return false;
      }
    }
  };

  return {
    async store(before, record) {
      try {
        return await put(before, record);
      } catch (error) {
        if (error instanceof StoreUnavailableError) {
          const outcome = keepOffering(before, record).finally(() => waiting.delete(before.id));
          waiting.set(before.id, { before, record, outcome });
        }
        throw error;
      }
    },
    offerAgain(sessionId) {
      const unstored = waiting.get(sessionId);
      return unstored === undefined ? null : put(unstored.before, unstored.record);
    },
    outcome: (sessionId) => waiting.get(sessionId)?.outcome ?? null,
    async settle() {
      settlesAt = performance.now() + SETTLES_WITHIN_MS;
      await Promise.allSettled([...waiting.values()].map(async ({ outcome }) => outcome));
    },
  };
}
