import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { storeReply, type RedisClient } from '../../redis/client.ts';
import { sessionScopedKey } from '../../session/store.ts';

/** The lock for a session, held by one process at a time. Methods reject with StoreUnavailableError if Redis is unavailable. */
export interface HeldLock {
  /**
   * Atomically checks that the lock is still held, extends it, and writes a value that expires after `seconds`. If the lock is
   * no longer held, writes nothing and resolves to false.
   */
  readonly setIfHeld: (key: string, value: string, seconds: number) => Promise<boolean>;
  /**
   * Returns whether Redis confirmed the lock less than half a lifetime ago. A process that was paused can't otherwise tell
   * whether another process now holds the lock.
   */
  readonly isFresh: () => boolean;
  readonly release: () => Promise<void>;
  /** Keeps the lock for 1 to 1.5 s after a failed refresh, so that waiting requests don't rush to a service that is down. */
  readonly coolDown: () => Promise<void>;
}

type LockReply =
  | { readonly state: 'held'; readonly lock: HeldLock }
  | { readonly state: 'taken' }
  | { readonly state: 'cooling'; readonly ms: number };

export type RefreshLocks = ReturnType<typeof createRefreshLocks>;

/** Lifetime of a lock, in ms. A running process extends its lock three times per lifetime; a killed process loses its lock. */
const LOCK_MS = 5_000;
const COOLING = 'cooling';
const COOLING_MS = 1_000;
const JITTER_MS = 500;
const RETRY_RELEASE_MS = 250;

const IF_OWNER = (then: string) =>
  `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end ${then} return 1`;
const EXTEND = IF_OWNER(`redis.call('PEXPIRE', KEYS[1], ARGV[2])`);
/** Both keys contain the hash tag of the session, so that a cluster keeps them in one slot. */
const SET_BESIDE = IF_OWNER(
  `redis.call('PEXPIRE', KEYS[1], ARGV[2]) redis.call('SET', KEYS[2], ARGV[3], 'EX', ARGV[4])`,
);
const RELEASE = IF_OWNER(`redis.call('DEL', KEYS[1])`);
const COOL = IF_OWNER(`redis.call('SET', KEYS[1], '${COOLING}', 'PX', ARGV[2])`);

/**
 * Creates locks in Redis that allow one refresh per session at a time, across all processes. Each lock is set with `SET NX PX`
 * and a random owner, and only that owner extends and releases the lock.
 */
export function createRefreshLocks(redis: RedisClient, prefix: string) {
  /** Owners of locks that Redis may have granted after the command timed out, with the time by which each lock will have expired. */
  const lateGrants = new Map<string, Map<string, number>>();
  const releaseLateGrant = async (key: string, owner: string) => {
    const known = lateGrants.get(key);
    const owners = known ?? new Map<string, number>();
    owners.set(owner, performance.now() + 2 * LOCK_MS);
    if (known !== undefined) return; // one loop per key, although an outage adds many owners
    lateGrants.set(key, owners);
    while (owners.size > 0) {
      await delay(RETRY_RELEASE_MS, undefined, { ref: false });
      for (const [each, expiredAt] of owners) {
        const released = await storeReply(redis.eval(RELEASE, 1, key, each)).catch(() => null);
        if (released !== null || performance.now() > expiredAt) owners.delete(each);
        else break;
      }
    }
    lateGrants.delete(key);
  };

  return {
    /** Tries to acquire a lock. The lock is `taken` if another process holds it, and `cooling` for another `ms` after a failed refresh. */
    async acquire(sessionId: string): Promise<LockReply> {
      const key = sessionScopedKey(prefix, 'refresh-lock', sessionId);
      const owner = randomUUID();
      const replies = Promise.all([
        redis.set(key, owner, 'PX', LOCK_MS, 'NX'),
        redis.get(key),
        redis.pttl(key),
      ]);
      const [granted, holder, leftMs] = await storeReply(replies).catch((error: unknown) => {
        void releaseLateGrant(key, owner);
        throw error;
      });
      if (granted === null)
        return holder === COOLING ? { state: 'cooling', ms: Math.max(0, leftMs) } : { state: 'taken' };

      let confirmedAt = -Infinity;
      /**
       * Sends a command and records when Redis confirmed the lock. Records the time at which the command was sent, because Redis may have
       * extended the lock at any time since. Resolves to true if the lock is still held.
       */
      const sendAndConfirm = async (send: () => Promise<unknown>) => {
        const sentAt = performance.now();
        const isHeld = (await send()) === 1;
        if (isHeld) confirmedAt = Math.max(confirmedAt, sentAt);
        return isHeld;
      };
      const extending = setInterval(() => {
        // A lock that Redis has lost can't be recovered. From then on, only the compare-and-set protects the record.
        sendAndConfirm(async () => redis.eval(EXTEND, 1, key, owner, LOCK_MS)).catch(() => {});
      }, LOCK_MS / 3);
      extending.unref();

      const finish = async (script: string, ms: number) => {
        clearInterval(extending);
        await storeReply(redis.eval(script, 1, key, owner, ms));
      };
      const lock: HeldLock = {
        setIfHeld: async (beside, value, seconds) =>
          sendAndConfirm(async () =>
            storeReply(redis.eval(SET_BESIDE, 2, key, beside, owner, LOCK_MS, value, seconds)),
          ),
        isFresh: () => performance.now() - confirmedAt < LOCK_MS / 2,
        release: async () => finish(RELEASE, 0),
        coolDown: async () => finish(COOL, Math.round(COOLING_MS + Math.random() * JITTER_MS)),
      };
      return { state: 'held', lock };
    },
  };
}
