import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Logger } from '../observability/logger.ts';
import { fromStore } from '../redis/client.ts';
import type { RedisClient } from '../redis/client.ts';
import type { Encryption } from '../session/encryption.ts';
import { keyBesideSession } from '../session/store.ts';
import type { PageMark } from './paging.ts';

/** A list as one session reads it with one page size: the service's tokens hold for nothing else. */
interface ListName {
  readonly sessionId: string;
  readonly path: string;
  readonly limit: number;
}

/**
 * Where the service's `next` tokens wait between two pages. While Redis is away, all but `remember` reject with
 * StoreUnavailableError.
 */
export interface PageTokens {
  /** The mark of the last page at or before `page` that is known; null where only the first can be asked for. */
  nearest(list: ListName, page: number): Promise<{ readonly page: number; readonly mark: PageMark } | null>;
  /** Adds marks by page number. Never rejects: where they can't be kept, later pages are walked to again. */
  remember(list: ListName, marks: ReadonlyMap<number, PageMark>): Promise<void>;
  /** Drops all marks of a list. */
  forget(list: ListName): Promise<void>;
}

const markSchema = z.object({ next: z.string(), before: z.number() });

/**
 * Of one session; of more the list that was used longest ago is forgotten, and its pages are walked to again. A list is
 * used when it gets a mark.
 */
const MOST_LISTS = 32;

/** For the encrypted marks of one list: with usual tokens some 800 pages. */
const MOST_BYTES = 262_144;
/** Of one walk, so that it leaves room for what was known nearby. A single mark of the longest always fits. */
const MOST_ADDED = MOST_BYTES / 2;
/** A list that is full gives up so much that it is not full again at once. */
const KEPT_OF_FULL = (MOST_BYTES / 4) * 3;

/** Where a list says how many bytes its marks are together, so that nobody has to add them up; every other field is a page. */
const BYTES_FIELD = 'bytes';

/**
 * Adds fields and values (ARGV[7] on) to the list at KEYS[1]; ARGV[6] is the field that counts its bytes. Where they are more
 * than ARGV[2], the pages furthest from the first of those fields go until no more than ARGV[3] are left: who turns pages
 * stands near it. Makes the list, whose name is ARGV[5], the one used last of those named at KEYS[2], and where they are more than
 * ARGV[4] gives the name of the one used longest ago. No key stands without a time to live: ARGV[1] in seconds. What it costs
 * follows what is added, and only seldom what is there: Redis does nothing else meanwhile.
 */
const REMEMBER = `
  local added, replaced = 0, 0
  for at = 7, #ARGV, 2 do
    added = added + #ARGV[at + 1]
    replaced = replaced + redis.call('HSTRLEN', KEYS[1], ARGV[at])
  end
  local bytes = (redis.call('HGET', KEYS[1], ARGV[6]) or 0) - replaced + added
  redis.call('HSET', KEYS[1], unpack(ARGV, 7))
  if bytes > tonumber(ARGV[2]) then
    local here, pages = tonumber(ARGV[7]), {}
    for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
      if field ~= ARGV[6] then table.insert(pages, field) end
    end
    table.sort(pages, function(a, b) return math.abs(a - here) > math.abs(b - here) end)
    for _, page in ipairs(pages) do
      if bytes <= tonumber(ARGV[3]) then break end
      bytes = bytes - redis.call('HSTRLEN', KEYS[1], page)
      redis.call('HDEL', KEYS[1], page)
    end
  end
  redis.call('HSET', KEYS[1], ARGV[6], bytes)
  redis.call('EXPIRE', KEYS[1], ARGV[1])
  redis.call('LREM', KEYS[2], 0, ARGV[5])
  local lists = redis.call('RPUSH', KEYS[2], ARGV[5])
  redis.call('EXPIRE', KEYS[2], ARGV[1])
  if lists > tonumber(ARGV[4]) then return redis.call('LPOP', KEYS[2]) end`;

/**
 * One hash per list, a field per page number, and one list of their names per session. The values are encrypted under the
 * session id and bound to their place, so that Redis holds nothing readable; they outlive the last page by `idleSeconds`,
 * as the session does. All of it is bounded for a session, whatever is asked of it.
 */
export function createPageTokens(deps: {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly encryption: Encryption;
  readonly idleSeconds: number;
  readonly log: Logger;
}): PageTokens {
  const { redis, encryption } = deps;

  const keyAt = (sessionId: string, name: string) =>
    `${keyBesideSession(deps.prefix, 'pages', sessionId)}:${name}`;
  const keyOf = (list: ListName) => keyAt(list.sessionId, toName(list));

  const read = async (list: ListName, page: number): Promise<PageMark | null> => {
    const key = keyOf(list);
    const encrypted = await fromStore(redis.hget(key, String(page)));
    const opened = encrypted === null ? null : encryption.open(encrypted, list.sessionId, `${key}:${page}`);
    return opened === null ? null : (markSchema.safeParse(JSON.parse(opened.text)).data ?? null);
  };

  /** The last marks, and as many before them as fit: a page whose mark was not kept is walked to again. */
  const sealLast = (list: ListName, marks: readonly [number, PageMark][]): [string, string][] => {
    const key = keyOf(list);
    const fields: [string, string][] = [];
    let bytes = 0;
    for (const [page, mark] of marks.toReversed()) {
      const encrypted = encryption.encrypt(JSON.stringify(mark), list.sessionId, `${key}:${page}`);
      bytes += encrypted.length;
      if (bytes > MOST_ADDED) break;
      fields.push([String(page), encrypted]);
    }
    return fields;
  };

  return {
    async nearest(list, page) {
      if (page <= 1) return null;
      const mark = await read(list, page);
      if (mark !== null) return { page, mark };
      const fields = await fromStore(redis.hkeys(keyOf(list)));
      const known = fields.filter((field) => field !== BYTES_FIELD).map(Number);
      const before = known.reduce((last, each) => (each < page && each > last ? each : last), 1);
      const earlier = before > 1 ? await read(list, before) : null;
      return earlier === null ? null : { page: before, mark: earlier };
    },

    async remember(list, marks) {
      if (marks.size === 0) return;
      try {
        const added = sealLast(list, [...marks]).flat();
        // One script takes keys of one slot only (Redis Cluster): both stand beside the session.
        const keys = [keyOf(list), keyBesideSession(deps.prefix, 'lists', list.sessionId)];
        const bounds = [MOST_BYTES, KEPT_OF_FULL, MOST_LISTS];
        const names = [toName(list), BYTES_FIELD];
        const forgotten = await fromStore(
          redis.eval(REMEMBER, 2, ...keys, deps.idleSeconds, ...bounds, ...names, ...added),
        );
        // A script is to be told beforehand of every key that it touches, and this one it finds out itself: so it goes after it.
        // Where another process uses the list again just now, it is walked to again: that is all.
        if (typeof forgotten === 'string') await fromStore(redis.del(keyAt(list.sessionId, forgotten)));
      } catch (error) {
        deps.log.warn({ err: error }, 'page tokens not kept');
      }
    },

    async forget(list) {
      await fromStore(redis.del(keyOf(list)));
    },
  };
}

function toName({ sessionId, path, limit }: ListName): string {
  return createHash('sha256')
    .update(JSON.stringify([sessionId, path, limit]))
    .digest('base64url');
}
