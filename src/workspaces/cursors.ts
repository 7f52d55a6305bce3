import { createHash } from 'node:crypto';
import * as z from 'zod';
import type { Logger } from '../observability/logger.ts';
import { storeReply, type RedisClient } from '../redis/client.ts';
import type { Encryption } from '../session/encryption.ts';
import { sessionScopedKey } from '../session/store.ts';

/** Identifies the combination of session, list and page size for which a cursor from the service is valid. */
export interface ListName {
  readonly sessionId: string;
  readonly path: string;
  readonly limit: number;
}

const pageStartSchema = z.object({
  /** Page number, counted from 1. */
  page: z.number(),
  /** The service's cursor for the page; absent on the first page. */
  cursor: z.string().optional(),
  /** Number of items on the previous pages. */
  before: z.number(),
});

export type PageStart = Readonly<z.infer<typeof pageStartSchema>>;

export type Cursors = ReturnType<typeof createCursors>;

/** Maximum number of lists per session. The least recently used list is dropped first. */
const MAX_LISTS = 32;
/** Maximum JSON size for one list, before encryption: about 600 typical cursors, or at least one of maximum length. */
const MAX_BYTES = 98_304;

/** Stores a list and marks it as the most recently used. Every key always has a time to live. */
const WRITE = `
  redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[1])
  redis.call('LREM', KEYS[2], 0, ARGV[3])
  local lists = redis.call('RPUSH', KEYS[2], ARGV[3])
  redis.call('EXPIRE', KEYS[2], ARGV[1])
  if lists > tonumber(ARGV[4]) then return redis.call('LPOP', KEYS[2]) end`;

/**
 * Stores the service's cursors between requests, keyed by page number. Each list has a Redis key, and another key contains the
 * hashes of the session's lists. Values are encrypted under the session id, are bound to their key, and expire with the
 * session. Losing cursors costs only time, so concurrent requests may overwrite each other's values.
 */
export function createCursors(deps: {
  readonly redis: RedisClient;
  /** Prefix of every key. */
  readonly prefix: string;
  readonly encryption: Encryption;
  readonly idleSeconds: number;
  readonly log: Logger;
}) {
  const { redis, encryption } = deps;

  const keyOf = (sessionId: string, list: string) =>
    `${sessionScopedKey(deps.prefix, 'cursors', sessionId)}:${list}`;

  const read = async (list: ListName): Promise<readonly PageStart[]> => {
    const key = keyOf(list.sessionId, toHash(list));
    const encrypted = await storeReply(redis.get(key));
    const decrypted = encrypted === null ? null : encryption.decrypt(encrypted, list.sessionId, key);
    return decrypted === null
      ? []
      : (z.array(pageStartSchema).safeParse(JSON.parse(decrypted.text)).data ?? []);
  };

  /** Stores the page starts of a list. If the session has too many lists, resolves with the hash of the least recently used list. */
  const write = async (list: ListName, starts: readonly PageStart[]): Promise<unknown> => {
    const hash = toHash(list);
    const key = keyOf(list.sessionId, hash);
    const lists = sessionScopedKey(deps.prefix, 'cursor-lists', list.sessionId);
    const encrypted = encryption.encrypt(JSON.stringify(starts), list.sessionId, key);
    return storeReply(redis.eval(WRITE, 2, key, lists, deps.idleSeconds, encrypted, hash, MAX_LISTS));
  };

  return {
    /**
     * Resolves with the nearest known start at or before a page, or with null if reading must begin at the first page. Rejects
     * with StoreUnavailableError while Redis is unavailable.
     */
    async nearest(list: ListName, page: number): Promise<PageStart | null> {
      if (page <= 1) return null;
      const earlier = (await read(list)).filter((start) => start.page <= page);
      return earlier.toSorted((a, b) => b.page - a.page)[0] ?? null;
    },

    /** Adds page starts, which must be in page order. Never rejects, because without the starts, later requests merely read more pages. */
    async add(list: ListName, found: readonly PageStart[]): Promise<void> {
      const last = found.at(-1);
      if (last === undefined) return;
      try {
        const starts = new Map([...(await read(list)), ...found].map((start) => [start.page, start]));
        const surplus = await write(list, keepNearest([...starts.values()], last.page));
        // In Redis Cluster, a script may access only the keys passed to it, so the surplus key is deleted here.
        if (typeof surplus === 'string') await storeReply(redis.del(keyOf(list.sessionId, surplus)));
      } catch (error) {
        deps.log.warn({ err: error }, 'page cursors not stored');
      }
    },

    /** Removes all page starts for a list. Rejects like `nearest`. */
    async clear(list: ListName): Promise<void> {
      await storeReply(redis.del(keyOf(list.sessionId, toHash(list))));
    },
  };
}

/** Returns the page starts nearest to a page, up to the size limit, because users tend to visit adjacent pages. */
function keepNearest(starts: readonly PageStart[], page: number): PageStart[] {
  const kept: PageStart[] = [];
  let bytes = 0;
  for (const start of starts.toSorted((a, b) => Math.abs(a.page - page) - Math.abs(b.page - page))) {
    bytes += Buffer.byteLength(JSON.stringify(start)) + 1;
    if (bytes > MAX_BYTES) break;
    kept.push(start);
  }
  return kept;
}

function toHash({ sessionId, path, limit }: ListName): string {
  return createHash('sha256')
    .update(JSON.stringify([sessionId, path, limit]))
    .digest('base64url');
}
