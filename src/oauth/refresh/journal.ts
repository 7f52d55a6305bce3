import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { storeReply, type RedisClient } from '../../redis/client.ts';
import type { Session } from '../../session/record.ts';
import { sessionScopedKey } from '../../session/store.ts';
import type { HeldLock } from './lock.ts';

/** Interval at which the process that owns an open entry writes a heartbeat, in ms. */
const HEARTBEAT_MS = 1_000;
/** A process without a heartbeat for this long (ms) is considered dead. A running process reconnects to Redis within 1.25 s. */
const DEAD_AFTER_MS = 2 * HEARTBEAT_MS + 1_500;
const POLL_MS = 100;

const entrySchema = z.object({
  /** Hash of the grant before the refresh. */
  grant: z.string(),
  /**
   * - `open`: the outcome is unknown. The process is waiting for the token endpoint or for Redis, or was killed.
   * - `interrupted`: the next refresh found the entry open, and then also failed.
   * - `failed`: the process received no tokens.
   */
  state: z.enum(['open', 'interrupted', 'failed']),
  /** Milliseconds since the epoch. */
  startedAt: z.number().min(0).max(8.64e15),
  /** Changes every second while the process that created the entry is running and can reach Redis. */
  heartbeat: z.string(),
});

/** An earlier refresh of the current grant. */
export type JournalEntry = Readonly<z.infer<typeof entrySchema>>;

/** An entry created by this process. Other processes never change or delete it. */
export interface OwnEntry {
  /** Records that the token endpoint returned no tokens. The refresh token may or may not still be valid. */
  readonly fail: (earlier: JournalEntry | null) => Promise<void>;
  /** Deletes the entry. Call this once the outcome is known and any new grant is stored. */
  readonly close: () => Promise<void>;
  readonly stopHeartbeat: () => void;
}

export type RefreshJournal = ReturnType<typeof createRefreshJournal>;

/** Returns a script that runs `then` if the entry starts with the id of this refresh. */
const IF_OWN = (then: string) => `
  local found = redis.call('GET', KEYS[1])
  if found and string.sub(found, 1, #ARGV[1]) == ARGV[1] then ${then} end
  return 1`;
const REPLACE_OWN = IF_OWN(`redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')`);
const DELETE_OWN = IF_OWN(`redis.call('DEL', KEYS[1])`);

/**
 * Records in Redis which refreshes have started. If a process is killed during a refresh, no other process can tell whether the refresh
 * token is still valid. The next refresh finds out from the service's response (docs/decisions/0003). Each session has at most one entry,
 * which names the grant and is ignored once that grant is no longer current. Methods reject with StoreUnavailableError if Redis is
 * unavailable.
 */
export function createRefreshJournal(deps: {
  readonly redis: RedisClient;
  readonly prefix: string;
  /** An entry is kept for as long as an unused session. */
  readonly idleSeconds: number;
  readonly now: () => number;
}) {
  const { redis, idleSeconds, now } = deps;
  const keyOf = (sessionId: string) => sessionScopedKey(deps.prefix, 'refresh-journal', sessionId);
  const toText = (refreshId: string, entry: Omit<JournalEntry, 'heartbeat'>) =>
    `${refreshId} ${JSON.stringify({ ...entry, heartbeat: randomUUID() })}`;

  /** Resolves with the entry for the session's grant, or null. */
  const find = async (session: Session): Promise<JournalEntry | null> => {
    const entry = parseEntry(await storeReply(redis.get(keyOf(session.id))));
    return entry?.grant === hashGrant(session) ? entry : null;
  };

  return {
    find,

    /** Yields the current entry, or null, ten times a second until the process that owns the open entry is considered dead. */
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
     * Records that a token request is about to be sent, and starts the heartbeat. Resolves with null if the lock has been lost,
     * because another process may have created its own entry.
     */
    async open(session: Session, lock: HeldLock): Promise<OwnEntry | null> {
      const refreshId = randomUUID();
      const key = keyOf(session.id);
      const entry = { grant: hashGrant(session), state: 'open', startedAt: now() } as const;
      if (!(await lock.setIfHeld(key, toText(refreshId, entry), idleSeconds))) return null;
      const beat = () => {
        // A heartbeat is lost while Redis is down; the next heartbeat may succeed.
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
 * Returns log fields about an earlier refresh that didn't complete. If the next refresh succeeds, the service either hadn't processed the
 * earlier refresh or accepts a refresh token more than once. If the next refresh gets `invalid_grant`, the service had processed the
 * earlier refresh, and the new tokens were lost.
 */
export function attemptFields(earlier: JournalEntry | null) {
  if (earlier === null) return {};
  const attemptBefore = earlier.state === 'failed' ? 'failed' : 'interrupted';
  return { attemptBefore, attemptStartedAt: new Date(earlier.startedAt).toISOString() };
}

/** Parses an entry; returns null if the value is missing or in a different format. */
function parseEntry(text: string | null): JournalEntry | null {
  try {
    return entrySchema.safeParse(JSON.parse(text?.slice(text.indexOf(' ')) ?? 'null')).data ?? null;
  } catch {
    return null;
  }
}

/** Hashes a grant together with the secret session id, so that the hash reveals nothing about the grant. */
function hashGrant({ id, record }: Session): string {
  return createHash('sha256')
    .update(`${id} ${JSON.stringify(record.grant)}`)
    .digest('base64url');
}
