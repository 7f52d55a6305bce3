import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Logger } from '../platform/log.ts';
import { fromStore } from '../platform/redis.ts';
import type { RedisClient } from '../platform/redis.ts';
import type { Sealer } from '../session/sealing.ts';
import { keyBesideSession } from '../session/session-records.ts';
import type { PageMark } from './page-walk.ts';

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

/** For the tokens of one walk, in characters: with usual ones far more than it can find. */
const MOST_KEPT = 65_536;

/** The last marks, and as many before them as fit: a page whose mark was not kept is walked to again. */
function withinBudget(marks: [number, PageMark][]): [number, PageMark][] {
  let left = MOST_KEPT;
  const kept = marks.toReversed().filter(([, { next = '' }]) => (left -= next.length) >= 0);
  return kept.length > 0 ? kept : marks.slice(-1);
}

/** Of one session; of more the one is forgotten that got no mark for longest: its pages are walked to again. */
const MOST_LISTS = 32;

/** For the sealed marks of one list: with usual tokens some 800 pages. */
const MOST_BYTES = 262_144;

/**
 * Adds fields and values (ARGV[5] on) to the list at KEYS[1], or begins it anew with them where all together were more than
 * ARGV[2] bytes. Counts the list, whose name is ARGV[4], as the last one used of those named at KEYS[2], and gives the name of
 * the one that is used no more where they are more than ARGV[3]. No key stands without a time to live: ARGV[1] in seconds.
 */
const REMEMBER = `
  redis.call('HSET', KEYS[1], unpack(ARGV, 5))
  local bytes = 0
  for _, value in ipairs(redis.call('HVALS', KEYS[1])) do bytes = bytes + #value end
  if bytes > tonumber(ARGV[2]) then
    redis.call('DEL', KEYS[1])
    redis.call('HSET', KEYS[1], unpack(ARGV, 5))
  end
  redis.call('EXPIRE', KEYS[1], ARGV[1])
  redis.call('LREM', KEYS[2], 0, ARGV[4])
  local lists = redis.call('RPUSH', KEYS[2], ARGV[4])
  redis.call('EXPIRE', KEYS[2], ARGV[1])
  if lists > tonumber(ARGV[3]) then return redis.call('LPOP', KEYS[2]) end`;

/**
 * One hash per list, a field per page number, and one list of their names per session. The values are sealed under the
 * session id and bound to their place, so that Redis holds nothing readable; they outlive the last page by `idleSeconds`,
 * as the session does. All of it is bounded for a session, whatever is asked of it.
 */
export function createPageTokens(deps: {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly sealer: Sealer;
  readonly idleSeconds: number;
  readonly log: Logger;
}): PageTokens {
  const { redis, sealer } = deps;

  const keyAt = (sessionId: string, name: string) =>
    `${keyBesideSession(deps.prefix, 'pages', sessionId)}:${name}`;
  const keyOf = (list: ListName) => keyAt(list.sessionId, toName(list));

  const read = async (list: ListName, page: number): Promise<PageMark | null> => {
    const key = keyOf(list);
    const sealed = await fromStore(redis.hget(key, String(page)));
    const opened = sealed === null ? null : sealer.open(sealed, list.sessionId, `${key}:${page}`);
    return opened === null ? null : (markSchema.safeParse(JSON.parse(opened.text)).data ?? null);
  };

  return {
    async nearest(list, page) {
      if (page <= 1) return null;
      const mark = await read(list, page);
      if (mark !== null) return { page, mark };
      const known = (await fromStore(redis.hkeys(keyOf(list)))).map(Number);
      const before = known.reduce((last, each) => (each < page && each > last ? each : last), 1);
      const earlier = before > 1 ? await read(list, before) : null;
      return earlier === null ? null : { page: before, mark: earlier };
    },

    async remember(list, marks) {
      if (marks.size === 0) return;
      try {
        const key = keyOf(list);
        const fields = withinBudget([...marks]).flatMap(([page, mark]) => [
          String(page),
          sealer.seal(JSON.stringify(mark), list.sessionId, `${key}:${page}`),
        ]);
        const keys = [key, keyBesideSession(deps.prefix, 'lists', list.sessionId)];
        const bounds = [deps.idleSeconds, MOST_BYTES, MOST_LISTS];
        const unused = await fromStore(redis.eval(REMEMBER, 2, ...keys, ...bounds, toName(list), ...fields));
        // Where another process uses it again just now, it is walked to again: that is all.
        if (typeof unused === 'string') await fromStore(redis.del(keyAt(list.sessionId, unused)));
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
