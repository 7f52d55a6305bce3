import { createHash } from 'node:crypto';
import { createBoundedCache } from '../bounded-cache.ts';
import { derive } from '../config/reloadable.ts';
import type { RequestContext } from '../http/request-context.ts';
import type { Logger } from '../observability/logger.ts';
import { storeReply, type RedisClient } from '../redis/client.ts';
import type { ReadSession } from '../redis/session-reads.ts';
import type { Encryption } from './encryption.ts';
import { sessionLogFields, type SessionEvents } from './events.ts';
import { parseRecord, type Session, type SessionRecord } from './record.ts';

export type SessionStore = ReturnType<typeof createSessionStore>;

export interface SessionStoreOptions {
  readonly redis: RedisClient;
  /** Reads the value of a session key in Redis and restarts the idle timeout of the session. */
  readonly readSession: ReadSession;
  readonly prefix: string;
  readonly encryption: Encryption;
  readonly idleSeconds: number;
  readonly maxSeconds: number;
  /** Records that a session has reached its maximum age. */
  readonly sessionEvents?: SessionEvents;
  readonly log: Logger;
  readonly now: () => number;
}

/** Replaces the value of an ended session, so that a late write finds neither the old value nor an unused key. */
const TOMBSTONE = 'ended';
/** Exceeds the time a sign-in takes to create its session. Once the tombstone has expired, late writes fail because the key is missing. */
const TOMBSTONE_SECONDS = 600;

/** A record takes 1 to 5 kB, depending on its tokens, so the cache takes at most 50 MB. */
const MAX_CACHED_RECORDS = 10_000;

/** Writes ARGV[2] if the value is ARGV[1]. Keeps the time to live, or sets it to ARGV[3] seconds. */
const COMPARE_AND_SET = `
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  if ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
  else redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) end
  return 1`;

/**
 * Writes the tombstone and returns 1 only to the caller that ended the session. If Redis is full and refuses the tombstone, the script
 * deletes the key instead. A late compare-and-set then also fails.
 */
const END = `
  local found = redis.call('GET', KEYS[1])
  local set = redis.pcall('SET', KEYS[1], ARGV[1], 'EX', ARGV[2], 'XX')
  if type(set) == 'table' and set.err then redis.call('DEL', KEYS[1]) end
  if found and found ~= ARGV[1] then return 1 end
  return 0`;

interface CachedRecord {
  readonly key: string;
  readonly session: Session;
  readonly usesFirstKey: boolean;
}

/**
 * Stores sessions in Redis, encrypted. Each method rejects with StoreUnavailableError while Redis is unavailable, and leaves
 * the session unchanged. `context`, from the request that reads the session, is used for logging.
 */
export function createSessionStore(options: SessionStoreOptions) {
  const { redis, readSession, encryption, idleSeconds, maxSeconds, log, now } = options;

  // Caches only decrypted records, not whether a session exists, so read() goes to Redis each time. Decryption takes as much CPU time as
  // the rest of a proxied request; hashing the id for the key name accounts for much of that. A cached record is used only if the id and
  // the encrypted bytes match. A value copied to another session's key is therefore decrypted again and refused. Changing the session keys
  // clears the cache, because a removed key must no longer decrypt anything.
  const cache = derive(encryption.keyring, () => createBoundedCache<CachedRecord>(MAX_CACHED_RECORDS));

  /** Whether the last read of any session succeeded. */
  let lastReadSucceeded = false;

  // peek() suffices here, because decrypt() marks the entry as recently used.
  const keyOf = (id: string) => cache.current.peek(id)?.key ?? sessionKey(options.prefix, id);

  /** Logs and returns null if the value was moved, truncated or altered, or if its session key is unknown. */
  const decrypt = (id: string, encrypted: string, context?: RequestContext): CachedRecord | null => {
    const cached = cache.current.get(id);
    if (cached?.session.encrypted === encrypted) return cached;
    const key = cached?.key ?? sessionKey(options.prefix, id);
    const plain = encryption.decrypt(encrypted, id, key);
    const record = plain === null ? null : parseRecord(plain.text);
    if (plain === null || record === null) {
      log.warn({ ...sessionLogFields(id, context), key }, 'session record refused');
      return null;
    }
    const { usesFirstKey } = plain;
    const decrypted = { key, session: { id, encrypted, record }, usesFirstKey };
    cache.current.set(id, decrypted);
    return decrypted;
  };

  const isTooOld = ({ record }: Session) => record.createdAt + maxSeconds * 1_000 <= now();

  const toSession = (id: string, encrypted: string | null, context?: RequestContext): Session | null => {
    if (encrypted === null || encrypted === TOMBSTONE) return null;
    const decrypted = decrypt(id, encrypted, context);
    if (decrypted === null) return null;
    const { session } = decrypted;
    if (isTooOld(session)) {
      end(id).then(
        (ended) => ended && options.sessionEvents?.ended(id, 'age', context),
        (error: unknown) => log.warn({ err: error }, 'session not ended at its maximum age'),
      );
      return null;
    }
    if (!decrypted.usesFirstKey) encryptAgain(session);
    return session;
  };

  /** Re-encrypts a session under the first session key, in the background. After a failure, the next read tries again. */
  const encryptAgain = (session: Session) => {
    replace(session, session.record).catch((error: unknown) => {
      log.warn({ err: error }, 'session not re-encrypted');
    });
  };

  const compareAndSet = async (session: Session, value: string, seconds: number | '') => {
    const run = redis.eval(COMPARE_AND_SET, 1, keyOf(session.id), session.encrypted, value, seconds);
    return (await storeReply(run)) === 1;
  };

  /** Replaces a session if it has not changed since it was read; otherwise resolves with null. */
  const replace = async (session: Session, record: SessionRecord): Promise<Session | null> => {
    const { id } = session;
    const key = keyOf(id);
    const text = JSON.stringify(record);
    // Read now: if the session keys change during the write, the record must not enter the cache of the new keys.
    const records = cache.current;
    const encrypted = encryption.encrypt(text, id, key);
    if (!(await compareAndSet(session, encrypted, ''))) return null;
    // The next request needs no decryption. Parse the text, so that the cached record is the one that other processes read.
    const cached = parseRecord(text);
    if (cached !== null)
      records.set(id, { key, session: { id, encrypted, record: cached }, usesFirstKey: true });
    return { id, encrypted, record };
  };

  /** Ends a session so that a write in flight can't restore it. Resolves to true if the session existed. */
  const end = async (id: string): Promise<boolean> => {
    try {
      return (await storeReply(redis.eval(END, 1, keyOf(id), TOMBSTONE, TOMBSTONE_SECONDS))) === 1;
    } finally {
      cache.current.delete(id); // not earlier, because a read in flight may add it again
    }
  };

  return {
    replace,
    end,
    /** Ends a session if it has not changed since it was read, and then resolves to true. */
    async endUnchanged(session: Session): Promise<boolean> {
      try {
        return await compareAndSet(session, TOMBSTONE, TOMBSTONE_SECONDS);
      } finally {
        cache.current.delete(session.id);
      }
    },
    /**
     * Reads a session and restarts its idle timeout, in one command; returns null if the session does not exist. Every request
     * reads its session from Redis, so a sign-out takes effect immediately in every process (docs/decisions/0002 and 0004).
     */
    async read(id: string, context?: RequestContext): Promise<Session | null> {
      let encrypted: string | null;
      try {
        encrypted = await readSession(keyOf(id));
        lastReadSucceeded = true;
      } catch (error) {
        lastReadSucceeded = false;
        cache.current.delete(id);
        throw error;
      }
      const session = toSession(id, encrypted, context);
      if (session === null) cache.current.delete(id);
      return session;
    },
    /**
     * Returns a session from the cache, without asking Redis. Returns null if it is not cached or has reached its maximum age, or if the last
     * read of any session failed. The session may have ended, so nothing may reach the client until `read` has resolved to a session
     * (docs/decisions/0004).
     */
    cached(id: string): Session | null {
      const session = lastReadSucceeded ? cache.current.peek(id)?.session : undefined;
      return session === undefined || isTooOld(session) ? null : session;
    },
    /** Reads a session without restarting its idle timeout. `idleExpiresAt` is in ms since the epoch. */
    async peek(id: string, context?: RequestContext) {
      const key = keyOf(id);
      const [encrypted, ttlMs] = await storeReply(Promise.all([redis.get(key), redis.pttl(key)]));
      const session = toSession(id, encrypted, context);
      return session === null ? null : { session, idleExpiresAt: now() + Math.max(0, ttlMs) };
    },
    /** Stores a new session. Never overwrites a session or tombstone with the same id. */
    async create(id: string, record: SessionRecord): Promise<void> {
      const key = keyOf(id);
      const encrypted = encryption.encrypt(JSON.stringify(record), id, key);
      await storeReply(redis.set(key, encrypted, 'EX', idleSeconds, 'NX'));
    },
  };
}

/** Hashes a session id for use in key names. The hash reveals nothing about the id. */
export function hashId(id: string): string {
  return createHash('sha256').update(id).digest('base64url');
}

export function sessionKey(prefix: string, id: string): string {
  return `${prefix}session:${hashId(id)}`;
}

/**
 * Returns a key for data that belongs to a session. In a cluster, the key is in the same slot as the session, and therefore on
 * the same master. A cluster computes the slot from the part in braces, or from the entire key if there are none.
 */
export function sessionScopedKey(prefix: string, kind: string, id: string): string {
  return `${prefix}${kind}:{${sessionKey(prefix, id)}}`;
}
