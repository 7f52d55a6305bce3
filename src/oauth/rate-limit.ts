import { createHmac, hkdfSync } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import { ipKeyGenerator, rateLimit, type RateLimitInfo, type Store } from 'express-rate-limit';
import { RedisStore, type RedisReply } from 'rate-limit-redis';
import { LRUCache } from 'lru-cache';
import type { Config, Secrets } from '../config/load.ts';
import { derive, type Reloadable } from '../config/reloadable.ts';
import { AppError } from '../errors.ts';
import { clientAddress, requestId } from '../http/request-context.ts';
import type { Logger } from '../observability/logger.ts';
import { settlesWithin } from '../promises.ts';
import type { RedisClient } from '../redis/client.ts';

const WINDOW_MS = 600_000;
/** Providers usually assign a customer at most a prefix of this length (RFC 6177), so each prefix is counted as one address. */
const IPV6_PREFIX = 48;
/** Fraction of its limit above which an address is considered to have many sign-ins. */
const MANY_SIGN_INS_PART = 1 / 4;
/**
 * Maximum wait for a count in Redis, in ms. It leaves time for a 503 within two seconds if the sign-in also waits for Redis.
 */
const REDIS_TIMEOUT_MS = 200;
/** Maximum number of keys that a process counts. Each key takes 150 bytes. */
const MAX_LOCAL_COUNTS = 20_000;

type CountedRequest = Request & { readonly rateLimit?: RateLimitInfo };

/**
 * Limits the sign-ins from one client address to SIGN_INS_PER_ADDRESS in ten minutes, across all processes. Refuses further
 * sign-ins with a 429 (RFC 6585 §4). Requests with any method are counted, because each would write to Redis. Redis never
 * stores an address, only its HMAC under a key derived from the first session key.
 */
export function createSignInLimit(deps: {
  readonly config: Pick<Config, 'signInsPerAddress' | 'trustProxy' | 'redisPrefix'>;
  readonly redis: RedisClient;
  readonly secrets: Reloadable<Pick<Secrets, 'sessionKeys'>>;
  readonly log: Logger;
  readonly now: () => number;
}): RequestHandler {
  const { config, log } = deps;
  if (config.signInsPerAddress === 0) return (_req, _res, next) => next();

  const addressKey = derive(deps.secrets, ({ sessionKeys: [first = ''] }) =>
    Buffer.from(hkdfSync('sha256', first, '', 'cloakroom client address', 32)),
  );
  const addressOf = (req: Request) => clientAddress(req, config.trustProxy);
  const prefix = `${config.redisPrefix}sign-in-counts:`;

  return rateLimit({
    windowMs: WINDOW_MS,
    limit: config.signInsPerAddress,
    store: createSignInCounts({ ...deps, windowMs: WINDOW_MS, prefix }),
    keyGenerator: (req) =>
      createHmac('sha256', addressKey.current)
        .update(ipKeyGenerator(addressOf(req), IPV6_PREFIX))
        .digest('base64url'),
    // Otherwise the library would check its configuration on the first request and print to the console.
    validate: false,
    // Don't tell clients how much of the limit is left.
    legacyHeaders: false,
    standardHeaders: false,
    handler(req, res, next) {
      const { used, limit, resetTime } = (req as Required<CountedRequest>).rateLimit;
      // Logged once per address and window.
      if (used === limit + 1)
        log.warn({ requestId: requestId(res), client: addressOf(req) }, 'sign-in limit reached');
      const leftMs = (resetTime?.getTime() ?? 0) - Date.now();
      const retryAfterSeconds = Math.max(1, Math.ceil(leftMs / 1_000));
      next(new AppError('too_many_sign_ins', { retryAfterSeconds }));
    },
  });
}

/** Whether the client address has started many sign-ins, even if it is within its limit. Never true without a limit. */
export function hasManySignIns(req: Request): boolean {
  const { rateLimit: counted } = req as CountedRequest;
  return counted !== undefined && counted.used > counted.limit * MANY_SIGN_INS_PART;
}

/**
 * Counts per key, in windows that start with the first count. Redis counts across all processes. Each process also keeps its
 * own count, and uses it if Redis doesn't respond in time. Every key has a time to live.
 */
export function createSignInCounts(deps: {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly windowMs: number;
  readonly now: () => number;
}): Store {
  const { redis, prefix } = deps;
  const local = createLocalCounts(deps);
  // The store identifies a script by the reply to SCRIPT LOAD. Reply with the script text itself, so that it can be sent with
  // EVAL each time and need not be loaded in Redis.
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
      const own = local.increment(key);
      const counted = shared.increment(key).catch(() => own);
      return (await settlesWithin(counted, REDIS_TIMEOUT_MS)) ? counted : own;
    },
    decrement: async (key) => shared.decrement(key),
    resetKey: async (key) => shared.resetKey(key),
  };
}

/** Counts within this process. Beyond 20,000 keys, the least recently counted keys are dropped. */
export function createLocalCounts({
  windowMs,
  now,
}: {
  readonly windowMs: number;
  readonly now: () => number;
}) {
  const counts = new LRUCache<string, { hits: number; readonly endsAt: number }>({ max: MAX_LOCAL_COUNTS });
  return {
    increment(key: string) {
      const at = now();
      const known = counts.get(key);
      const count = known !== undefined && known.endsAt > at ? known : { hits: 0, endsAt: at + windowMs };
      count.hits += 1;
      counts.set(key, count);
      return { totalHits: count.hits, resetTime: new Date(Date.now() + count.endsAt - at) };
    },
  };
}
