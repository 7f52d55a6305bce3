import { createHmac, hkdfSync } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import { ipKeyGenerator, rateLimit, type RateLimitInfo, type Store } from 'express-rate-limit';
import { RedisStore, type RedisReply } from 'rate-limit-redis';
import { createBoundedCache } from '../bounded-cache.ts';
import type { Config, Secrets } from '../config/load.ts';
import { derive, type Reloadable } from '../config/reloadable.ts';
import { AppError } from '../errors.ts';
import { clientAddress, requestId } from '../http/request-context.ts';
import type { Logger } from '../observability/logger.ts';
import { settlesWithin } from '../promises.ts';
import type { RedisClient } from '../redis/client.ts';

const WINDOW_MS = 600_000;
/** Length of the IPv6 prefix that is counted as one address. Providers rarely assign a customer a shorter prefix (RFC 6177). */
const IPV6_PREFIX = 48;
/** Fraction of the limit above which an address is considered to have many sign-ins. */
const MANY_SIGN_INS_PART = 1 / 4;
/** Maximum wait for a count in Redis, in ms. Leaves time to send a 503 within two seconds if Redis is down. */
const REDIS_TIMEOUT_MS = 200;
/** Maximum number of keys for which a process keeps a count. Each key takes 150 bytes. */
const MAX_LOCAL_COUNTS = 20_000;

type CountedRequest = Request & { readonly rateLimit?: RateLimitInfo };

/**
 * Limits the sign-ins from one client address to SIGN_INS_PER_ADDRESS in ten minutes, across all processes. Refuses further
 * sign-ins with a 429 (RFC 6585 §4). HEAD requests are counted too, because each of them also writes to Redis. Redis never
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
    // By default, express-rate-limit checks its configuration on the first request and prints to the console.
    validate: false,
    // Don't tell clients how much of the limit is left.
    legacyHeaders: false,
    standardHeaders: false,
    handler(req, res, next) {
      const { used, limit, resetTime } = (req as Required<CountedRequest>).rateLimit;
      // Log once per address and window.
      if (used === limit + 1)
        log.warn({ requestId: requestId(res), client: addressOf(req) }, 'sign-in limit reached');
      const leftMs = (resetTime?.getTime() ?? 0) - Date.now();
      const retryAfterSeconds = Math.max(1, Math.ceil(leftMs / 1_000));
      next(new AppError('too_many_sign_ins', { retryAfterSeconds }));
    },
  });
}

/** Returns whether the client address has started many sign-ins, even if it is still within its limit. Always false without a limit. */
export function hasManySignIns(req: Request): boolean {
  const { rateLimit: counted } = req as CountedRequest;
  return counted !== undefined && counted.used > counted.limit * MANY_SIGN_INS_PART;
}

/**
 * Counts sign-ins per key, in windows that start with the first sign-in. Redis counts across all processes. Each process also keeps its own
 * count, and uses it if Redis doesn't respond in time. Every key has a time to live.
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

/** Creates a store that counts in this process only. Beyond 20,000 keys, the least recently counted keys are dropped. */
export function createLocalCounts({
  windowMs,
  now,
}: {
  readonly windowMs: number;
  readonly now: () => number;
}) {
  const counts = createBoundedCache<{ hits: number; readonly endsAt: number }>(MAX_LOCAL_COUNTS);
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
