import type { ClientRateLimitInfo, Store } from 'express-rate-limit';
import { RedisStore } from 'rate-limit-redis';
import type { RedisReply } from 'rate-limit-redis';
import { settlesWithin } from '../promises.ts';
import { createRecentValues } from '../recent-values.ts';
import type { RedisClient } from '../redis/client.ts';

/**
 * So long (ms) a count in Redis is waited for. What comes after it waits for Redis, too: together they must be over within
 * the two seconds of an outage's answer.
 */
const SHARED_WITHIN_MS = 200;
/** 150 bytes each. */
const MOST_LOCAL = 20_000;

/**
 * Counts by key, over windows that begin with the first one counted: in Redis for all processes, and in this one beside it, which
 * holds where Redis does not count in time or at all. Every key has a time to live. `now` is in ms.
 */
export function createSignInCounts(deps: {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly windowMs: number;
  readonly now: () => number;
}): Store {
  const { redis, prefix } = deps;
  const local = createLocalCounts(deps);
  // The name of a script is its text, and goes along each time: whichever Redis is asked need not know it.
  const shared = new RedisStore({
    prefix,
    sendCommand: async (command, ...args) => {
      if (command === 'SCRIPT') return args[1] ?? '';
      const [script = '', keys, ...rest] = args;
      return redis.eval(script, Number(keys), ...rest) as Promise<RedisReply>;
    },
  });

  return {
    init: async (options) => shared.init(options),
    async increment(key) {
      const here = local.increment(key);
      const counted = shared.increment(key).catch(() => here);
      return (await settlesWithin(counted, SHARED_WITHIN_MS)) ? counted : here;
    },
    decrement: async (key) => shared.decrement(key),
    resetKey: async (key) => shared.resetKey(key),
  };
}

/** The same in this process; of very many keys those counted longest ago are forgotten. */
export function createLocalCounts({
  windowMs,
  now,
}: {
  readonly windowMs: number;
  readonly now: () => number;
}): { increment(key: string): ClientRateLimitInfo } {
  const counts = createRecentValues<string, { hits: number; readonly endsAt: number }>(MOST_LOCAL);

  return {
    increment(key) {
      const at = now();
      const known = counts.get(key);
      const count = known !== undefined && known.endsAt > at ? known : { hits: 0, endsAt: at + windowMs };
      count.hits += 1;
      counts.set(key, count);
      return { totalHits: count.hits, resetTime: new Date(Date.now() + count.endsAt - at) };
    },
  };
}
