import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import { storeReply, type RedisClient } from '../../redis/client.ts';
import type { Session } from '../../session/record.ts';
import { sessionScopedKey } from '../../session/store.ts';
import type { HeldLock } from './lock.ts';

/** How often the process of an open entry writes a heartbeat. */
const HEARTBEAT_MS = 1_000;
/** A process without a heartbeat for this long (ms) is dead. A running one reconnects to Redis within 1.25 s. */
const DEAD_AFTER_MS = 2 * HEARTBEAT_MS + 1_500;
const POLL_MS = 100;

const entrySchema = z.object({
  /** Hash of the grant that the refresh started with. */
  grant: z.string(),
  /**
   * - `open`: the outcome is not known. The process waits for the token endpoint or for Redis, or was killed.
   * - `interrupted`: the next refresh found it open, and failed itself.
   * - `failed`: its own process got no tokens.
   */
  state: z.enum(['open', 'interrupted', 'failed']),
  /** Milliseconds since the epoch. */
  startedAt: z.number().min(0).max(8.64e15),
  /** Changes every second, as long as the process that made the entry runs and reaches Redis. */
  heartbeat: z.string(),
});

/** An earlier refresh of the current grant. */
export type JournalEntry = Readonly<z.infer<typeof entrySchema>>;

/** An entry of this process. Only this process changes and deletes it. */
export interface OwnEntry {
  /** Records that the token endpoint gave no tokens. It may or may not have used up the refresh token. */
  readonly fail: (earlier: JournalEntry | null) => Promise<void>;
  /** Deletes the entry once the outcome is known, and stored where it must be. */
  readonly close: () => Promise<void>;
  readonly stopHeartbeat: () => void;
}

export type RefreshJournal = ReturnType<typeof createRefreshJournal>;

/** Runs `then` if the entry is still that of this refresh, whose id is its first word. */
const IF_OWN = (then: string) => `
  local found = redis.call('GET', KEYS[1])
  if found and string.sub(found, 1, #ARGV[1]) == ARGV[1] then ${then} end
  return 1`;
const REPLACE_OWN = IF_OWN(`redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')`);
const DELETE_OWN = IF_OWN(`redis.call('DEL', KEYS[1])`);

/**
 * Records in Redis which refreshes have started. A process that is killed during a refresh can't tell whether the service has
 * used up the refresh token. The next refresh learns it from the service's response (docs/decisions/0003). Each session has one
 * entry, beside its lock. It names the grant, so that it counts only while that grant is current. Rejects with
 * StoreUnavailableError.
 */
export function createRefreshJournal(deps: {
  readonly redis: RedisClient;
  readonly prefix: string;
  /** An entry lives as long as an unused session. */
  readonly idleSeconds: number;
  readonly now: () => number;
}) {
  const { redis, idleSeconds, now } = deps;
  const keyOf = (sessionId: string) => sessionScopedKey(deps.prefix, 'refresh-journal', sessionId);
  const toText = (refreshId: string, entry: Omit<JournalEntry, 'heartbeat'>) =>
    `${refreshId} ${JSON.stringify({ ...entry, heartbeat: randomUUID() })}`;

  /** The entry for the grant of a session, or null. */
  const find = async (session: Session): Promise<JournalEntry | null> => {
    const entry = parseEntry(await storeReply(redis.get(keyOf(session.id))));
    return entry?.grant === hashGrant(session) ? entry : null;
  };

  return {
    find,

    /** Yields the entry, or null, ten times a second until the process of an open entry is dead. */
    async *watch(session: Session, open: JournalEntry): AsyncGenerator<JournalEntry | null> {
      let { heartbeat } = open;
      for (let deadAt = performance.now() + DEAD_AFTER_MS; performance.now() < deadAt;) {
        await delay(POLL_MS);
        const entry = await find(session);
        yield entry;
        if (entry === null || entry.heartbeat === heartbeat) continue;
        ({ heartbeat } = entry);
        deadAt = performance.now() + DEAD_AFTER_MS;
      }
    },

    /**
     * Records that a token request is about to be sent, and starts the heartbeat. Resolves with null where the lock is lost,
     * because another process may have made its own entry since.
     */
    async open(session: Session, lock: HeldLock): Promise<OwnEntry | null> {
      const refreshId = randomUUID();
      const key = keyOf(session.id);
      const entry = { grant: hashGrant(session), state: 'open', startedAt: now() } as const;
      if (!(await lock.setIfHeld(key, toText(refreshId, entry), idleSeconds))) return null;
      const beat = () => {
        // While Redis is down a heartbeat is lost; the next one may arrive.
        redis.eval(REPLACE_OWN, 1, key, refreshId, toText(refreshId, entry)).catch(() => {});
      };
      const beating = setInterval(beat, HEARTBEAT_MS).unref();
      return {
        stopHeartbeat: () => clearInterval(beating),
        async fail(earlier) {
          clearInterval(beating);
          const state = earlier !== null && earlier.state !== 'failed' ? 'interrupted' : 'failed';
          const failed = { ...entry, state, startedAt: earlier?.startedAt ?? entry.startedAt } as const;
          await storeReply(redis.eval(REPLACE_OWN, 1, key, refreshId, toText(refreshId, failed)));
        },
        async close() {
          clearInterval(beating);
          await storeReply(redis.eval(DELETE_OWN, 1, key, refreshId));
        },
      };
    },
  };
}

/**
 * Returns the log fields about an earlier refresh. They show why it was interrupted. Where the next refresh succeeds, the
 * service had not processed it, or its refresh tokens can be used again. Where the next one gets `invalid_grant`, the service
 * had processed it, and no process got the tokens.
 */
export function attemptFields(earlier: JournalEntry | null) {
  if (earlier === null) return {};
  const attemptBefore = earlier.state === 'failed' ? 'failed' : 'interrupted';
  return { attemptBefore, attemptStartedAt: new Date(earlier.startedAt).toISOString() };
}

/** Parses an entry; null where the value is no entry of this version. */
function parseEntry(text: string | null): JournalEntry | null {
  try {
    return entrySchema.safeParse(JSON.parse(text?.slice(text.indexOf(' ')) ?? 'null')).data ?? null;
  } catch {
    return null;
  }
}

/** Hashes a grant together with the session id, a secret, so that the hash reveals nothing about the grant. */
function hashGrant({ id, record }: Session): string {
  return createHash('sha256')
    .update(`${id} ${JSON.stringify(record.grant)}`)
    .digest('base64url');
}
