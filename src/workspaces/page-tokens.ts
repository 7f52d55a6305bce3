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

/** A key never stands without a time to live: ARGV[1] in seconds, then fields and values. */
const REMEMBER = `
  redis.call('HSET', KEYS[1], unpack(ARGV, 2))
  return redis.call('EXPIRE', KEYS[1], ARGV[1])`;

/**
 * One hash per list, a field per page number. The values are sealed under the session id and bound to their place, so
 * that Redis holds nothing readable; they outlive the last page by `idleSeconds`, as the session does.
 */
export function createPageTokens(deps: {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly sealer: Sealer;
  readonly idleSeconds: number;
  readonly log: Logger;
}): PageTokens {
  const { redis, sealer } = deps;

  const keyOf = ({ sessionId, path, limit }: ListName) => {
    const name = createHash('sha256')
      .update(JSON.stringify([sessionId, path, limit]))
      .digest('base64url');
    return `${keyBesideSession(deps.prefix, 'pages', sessionId)}:${name}`;
  };

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
        await fromStore(redis.eval(REMEMBER, 1, key, deps.idleSeconds, ...fields));
      } catch (error) {
        deps.log.warn({ err: error }, 'page tokens not kept');
      }
    },

    async forget(list) {
      await fromStore(redis.del(keyOf(list)));
    },
  };
}
