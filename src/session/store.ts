import { createHash } from 'node:crypto';
import type { Logger } from '../observability/logger.ts';
import type { ReadSession } from '../redis/session-reads.ts';
import { fromStore } from '../redis/client.ts';
import type { RedisClient } from '../redis/client.ts';
import type { RequestContext } from '../http/request-context.ts';
import { createDecryptedRecords } from './decrypted-records.ts';
import type { SessionRecord, Session } from './record.ts';
import type { Encryption } from './encryption.ts';
import type { SessionEvents } from './events.ts';

/**
 * Sessions in Redis. Each call rejects with StoreUnavailableError while Redis is away; whatever it did not say is
 * unchanged. `by` is the request that a session is read for: the log names it.
 */
export interface SessionStore {
  /** The session of an id, its idle time begun anew, in one command. Null where it has ended or never was. */
  read(id: string, by?: RequestContext): Promise<Session | null>;
  /** The same without touching the idle time, and when that runs out (ms since the epoch). */
  peek(
    id: string,
    by?: RequestContext,
  ): Promise<{ readonly ticket: Session; readonly idleExpiresAt: number } | null>;
  /** Stores a new session. An id that is taken or was ended stays as it is. */
  create(id: string, record: SessionRecord): Promise<void>;
  /** Replaces what the ticket read. Null where that no longer stands: renewed by another, or ended. */
  replace(ticket: Session, record: SessionRecord): Promise<Session | null>;
  /** Ends a session for good: no write that is still under way brings it back. Tells whether there was one. */
  end(id: string): Promise<boolean>;
  /** Ends it only where what the ticket read still stands; tells whether it did. */
  endUnchanged(ticket: Session): Promise<boolean>;
}

export interface SessionStoreOptions {
  readonly redis: RedisClient;
  /** Reads the raw value of a session's key, and restarts its idle time. */
  readonly readSession: ReadSession;
  readonly prefix: string;
  readonly encryption: Encryption;
  readonly idleSeconds: number;
  readonly maxSeconds: number;
  /** Hears of those that are ended for their age. */
  readonly life?: SessionEvents;
  readonly log: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** Stands where a session was ended, so that a late write finds neither its old value nor a free key. */
const TOMBSTONE = 'ended';
/** Writes come from sign-in and renewal only, and both are over long before this. */
const TOMBSTONE_SECONDS = 600;

/** Writes ARGV[2] where ARGV[1] stands; keeps the time to live, or sets ARGV[3] seconds. */
const COMPARE_AND_SET = `
  if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
  if ARGV[3] == '' then redis.call('SET', KEYS[1], ARGV[2], 'KEEPTTL')
  else redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3]) end
  return 1`;

/**
 * A full Redis takes no tombstone but still deletes, and then a late compare-and-set finds nothing. Of several at once only the
 * first finds a session.
 */
const END = `
  local found = redis.call('GET', KEYS[1])
  local set = redis.pcall('SET', KEYS[1], ARGV[1], 'EX', ARGV[2], 'XX')
  if type(set) == 'table' and set.err then redis.call('DEL', KEYS[1]) end
  if found and found ~= ARGV[1] then return 1 end
  return 0`;

/** What stands for a session in the names of keys: says nothing of the id, which only the cookie holds. */
export function hashId(id: string): string {
  return createHash('sha256').update(id).digest('base64url');
}

/** Where the session of an id stands. */
export function sessionKey(prefix: string, id: string): string {
  return `${prefix}session:${hashId(id)}`;
}

/**
 * A key that stands in the same slot of a cluster as the session that it belongs to: a Redis that serves the session
 * serves all that goes with it. (What is in braces decides about the slot, and without any the whole key.)
 */
export function keyBesideSession(prefix: string, kind: string, id: string): string {
  return `${prefix}${kind}:{${sessionKey(prefix, id)}}`;
}

export function createSessionStore(options: SessionStoreOptions): SessionStore {
  const { redis, readSession, encryption, idleSeconds, maxSeconds, now } = options;
  const opened = createDecryptedRecords(encryption, (id) => sessionKey(options.prefix, id), options.log);
  const keyOf = (id: string) => opened.keyOf(id);

  const compareAndSet = async (ticket: Session, value: string, seconds: number | '') => {
    const run = redis.eval(COMPARE_AND_SET, 1, keyOf(ticket.id), ticket.encrypted, value, seconds);
    return (await fromStore(run)) === 1;
  };

  const replace = async (ticket: Session, record: SessionRecord) => {
    const encrypted = encryption.encrypt(JSON.stringify(record), ticket.id, keyOf(ticket.id));
    return (await compareAndSet(ticket, encrypted, '')) ? { id: ticket.id, encrypted, record } : null;
  };

  const end = async (id: string) => {
    const key = keyOf(id);
    opened.forget(id);
    return (await fromStore(redis.eval(END, 1, key, TOMBSTONE, TOMBSTONE_SECONDS))) === 1;
  };

  const toTicket = (id: string, encrypted: string | null, by: RequestContext | undefined): Session | null => {
    if (encrypted === null || encrypted === TOMBSTONE) return null;
    const found = opened.open(encrypted, id, by);
    if (found === null) return null;
    const { ticket } = found;
    if (ticket.record.createdAt + maxSeconds * 1_000 <= now()) {
      end(id).then(
        (stood) => stood && options.life?.ended(id, 'age', by),
        (error: unknown) => options.log.warn({ err: error }, 'session past its age not ended yet'),
      );
      return null;
    }
    if (!found.current) void sealAgain(ticket);
    return ticket;
  };

  /** After a change of session keys, beside the request. Where it fails the next one tries again. */
  const sealAgain = async (ticket: Session) => {
    await replace(ticket, ticket.record).catch((error: unknown) => {
      options.log.warn({ err: error }, 'session not encrypted again');
    });
  };

  return {
    replace,
    end,
    async read(id, by) {
      return toTicket(id, await readSession(keyOf(id)), by);
    },
    async peek(id, by) {
      const key = keyOf(id);
      const [encrypted, ttlMs] = await fromStore(Promise.all([redis.get(key), redis.pttl(key)]));
      const ticket = toTicket(id, encrypted, by);
      return ticket === null ? null : { ticket, idleExpiresAt: now() + Math.max(0, ttlMs) };
    },
    async create(id, record) {
      const key = keyOf(id);
      const encrypted = encryption.encrypt(JSON.stringify(record), id, key);
      await fromStore(redis.set(key, encrypted, 'EX', idleSeconds, 'NX'));
    },
    async endUnchanged(ticket) {
      opened.forget(ticket.id);
      return compareAndSet(ticket, TOMBSTONE, TOMBSTONE_SECONDS);
    },
  };
}
