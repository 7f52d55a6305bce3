import { setTimeout as delay } from 'node:timers/promises';
import { StoreUnavailableError } from '../platform/errors.ts';
import type { Logger } from '../platform/log.ts';
import type { Grant, SessionRecord, Ticket } from '../session/record.ts';
import { SessionEndedError } from '../session/session-ended.ts';
import type { SessionRecords } from '../session/session-records.ts';

/**
 * Brings renewed grants into the session record. From the token endpoint's answer on they must not be lost: the old
 * refresh token may be worth nothing any more.
 */
export interface RenewedGrants {
  /**
   * Puts a renewed record where `before` was read; gives the grant that stands there now. Rejects with
   * SessionEndedError, and the late tokens are dropped; or with StoreUnavailableError, and then goes on by itself.
   */
  store(before: Ticket, record: SessionRecord): Promise<Grant>;
  /** Stores what Redis has not taken yet; null where nothing of the session waits. Rejects like `store`. */
  offerAgain(sessionId: string): Promise<Grant> | null;
  /** Calls back once nothing of the session waits any more; tells whether anything does. */
  whenStored(sessionId: string, done: () => Promise<void>): boolean;
  /** Resolves when nothing waits any more. */
  settled(): Promise<void>;
}

/** A grant that Redis does not take is offered again for this long. */
const OFFER_WITHIN_MS = 15_000;
const OFFER_AGAIN_MS = 250;

interface Unstored {
  readonly before: Ticket;
  readonly record: SessionRecord;
  /** Resolves when it is stored, when its session has ended, or when it took too long. */
  readonly over: Promise<void>;
}

export function createRenewedGrants(records: SessionRecords, log: Logger): RenewedGrants {
  const waiting = new Map<string, Unstored>();

  const put = async (before: Ticket, record: SessionRecord): Promise<Grant> => {
    for (let current = before; ;) {
      if ((await records.replace(current, record)) !== null) return record.grant;
      const again = (await records.peek(before.id))?.ticket;
      if (again === undefined) throw new SessionEndedError();
      const isNewer = again.record.grant.accessToken !== before.record.grant.accessToken;
      if (isNewer) return again.record.grant;
      current = again; // only sealed again, under another session key
    }
  };

  const keepOffering = async (before: Ticket, record: SessionRecord): Promise<void> => {
    const giveUpAt = performance.now() + OFFER_WITHIN_MS;
    for (;;) {
      await delay(OFFER_AGAIN_MS);
      try {
        await put(before, record); // stored by a request meanwhile, this finds the very grant
        return;
      } catch (error) {
        if (error instanceof SessionEndedError) return;
        if (performance.now() < giveUpAt) continue;
        log.error({ err: error }, 'a renewed grant could not be stored');
        return;
      }
    }
  };

  return {
    async store(before, record) {
      try {
        return await put(before, record);
      } catch (error) {
        if (error instanceof StoreUnavailableError) {
          const over = keepOffering(before, record).finally(() => waiting.delete(before.id));
          waiting.set(before.id, { before, record, over });
        }
        throw error;
      }
    },
    offerAgain(sessionId) {
      const unstored = waiting.get(sessionId);
      return unstored === undefined ? null : put(unstored.before, unstored.record);
    },
    whenStored(sessionId, done) {
      const unstored = waiting.get(sessionId);
      if (unstored === undefined) return false;
      void unstored.over.then(done);
      return true;
    },
    async settled() {
      await Promise.allSettled([...waiting.values()].map(async ({ over }) => over));
    },
  };
}
