import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { fromStore } from '../../redis/client.ts';
import type { RedisClient } from '../../redis/client.ts';
import { keyBesideSession } from '../../session/store.ts';

/** Held by one process at a time for one session; each rejects with StoreUnavailableError. */
export interface HeldLock {
  /**
   * Writes a value beside the lock for `seconds`, in one step with the check that the lock is still held. If so, extends
   * the lock; if not, writes nothing and resolves false.
   */
  readonly setIfHeld: (key: string, value: string, seconds: number) => Promise<boolean>;
  /**
   * Whether Redis confirmed the lock within half of its life. A process that was stopped since can't tell otherwise that
   * another holds it.
   */
  readonly isFresh: () => boolean;
  /** Lets the next one in. */
  readonly release: () => Promise<void>;
  /** Lets nobody in for a second or a little more, after a renewal that failed: no herd when the service is down. */
  readonly coolDown: () => Promise<void>;
}

/** One renewal per session over all processes. */
export interface RenewalLocks {
  /** The lock; or `taken` while another holds it; or, just after a renewal failed, for how long nobody gets it. */
  acquire(sessionId: string): Promise<HeldLock | 'taken' | { readonly coolingMs: number }>;
}

/** A holder that was killed is forgotten after this long; one that lives extends it three times as often. */
const LOCK_MS = 5_000;
const COOLING = 'cooling';
const COOLING_MS = 1_000;
const JITTER_MS = 500;
const TAKE_BACK_AGAIN_MS = 250;

const IF_OWNER = (then: string) =>
  `if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end ${then} return 1`;
const EXTEND = IF_OWNER(`redis.call('PEXPIRE', KEYS[1], ARGV[2])`);
/** Both keys have the hash tag of their session, so that a cluster keeps them in one slot. */
const SET_BESIDE = IF_OWNER(
  `redis.call('PEXPIRE', KEYS[1], ARGV[2]) redis.call('SET', KEYS[2], ARGV[3], 'EX', ARGV[4])`,
);
const RELEASE = IF_OWNER(`redis.call('DEL', KEYS[1])`);
const COOL = IF_OWNER(`redis.call('SET', KEYS[1], '${COOLING}', 'PX', ARGV[2])`);

/** Locks in Redis: `SET NX PX` with an owner, extended while held, released only by the owner. */
export function createRenewalLocks(redis: RedisClient, prefix: string): RenewalLocks {
  /** Locks that Redis may have granted too late to be held, and until when they may stand. */
  const unheld = new Map<string, Map<string, number>>();
  const takeBack = async (key: string, owner: string) => {
    const known = unheld.get(key);
    const owners = known ?? new Map<string, number>();
    owners.set(owner, performance.now() + 2 * LOCK_MS);
    if (known !== undefined) return; // an outage brings many: one loop for a key
    unheld.set(key, owners);
    while (owners.size > 0) {
      await delay(TAKE_BACK_AGAIN_MS, undefined, { ref: false });
      for (const [each, goneAt] of owners) {
        const answered = await fromStore(redis.eval(RELEASE, 1, key, each)).catch(() => null);
        if (answered !== null || performance.now() > goneAt) owners.delete(each);
        else break;
      }
    }
    unheld.delete(key);
  };

  return {
    async acquire(sessionId) {
      const key = keyBesideSession(prefix, 'renewal', sessionId);
      const owner = randomUUID();
      const asked = Promise.all([
        redis.set(key, owner, 'PX', LOCK_MS, 'NX'),
        redis.get(key),
        redis.pttl(key),
      ]);
      const [granted, holder, leftMs] = await fromStore(asked).catch((error: unknown) => {
        void takeBack(key, owner);
        throw error;
      });
      if (granted === null) return holder === COOLING ? { coolingMs: Math.max(0, leftMs) } : 'taken';

      let confirmedAt = -Infinity;
      /** Counts from before the command was sent: Redis may have extended the lock as early as that. */
      const confirmedBy = async (send: () => Promise<unknown>) => {
        const sentAt = performance.now();
        const isHeld = (await send()) === 1;
        if (isHeld) confirmedAt = Math.max(confirmedAt, sentAt);
        return isHeld;
      };
      const extending = setInterval(() => {
        // A lock that is lost with its Redis can't be had again: then the compare-and-set alone decides.
        confirmedBy(async () => redis.eval(EXTEND, 1, key, owner, LOCK_MS)).catch(() => {});
      }, LOCK_MS / 3);
      extending.unref();

      const finish = async (script: string, ms: number) => {
        clearInterval(extending);
        await fromStore(redis.eval(script, 1, key, owner, ms));
      };
      return {
        setIfHeld: async (beside, value, seconds) =>
          confirmedBy(async () =>
            fromStore(redis.eval(SET_BESIDE, 2, key, beside, owner, LOCK_MS, value, seconds)),
          ),
        isFresh: () => performance.now() - confirmedAt < LOCK_MS / 2,
        release: async () => finish(RELEASE, 0),
        coolDown: async () => finish(COOL, Math.round(COOLING_MS + Math.random() * JITTER_MS)),
      };
    },
  };
}
