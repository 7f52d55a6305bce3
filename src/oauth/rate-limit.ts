import { createHmac, hkdfSync } from 'node:crypto';
import type { Request, RequestHandler } from 'express';
import { ipKeyGenerator, rateLimit } from 'express-rate-limit';
import type { RateLimitInfo } from 'express-rate-limit';
import type { Config, Secrets } from '../config/load.ts';
import { derive, type Reloadable } from '../config/reloadable.ts';
import { AppError } from '../errors.ts';
import { clientAddress, requestId } from '../http/request-context.ts';
import type { Logger } from '../observability/logger.ts';
import type { RedisClient } from '../redis/client.ts';
import { createSignInCounts } from './rate-limit-store.ts';

const WINDOW_MS = 600_000;
/** The most that one customer of a provider has of IPv6, as a rule (RFC 6177): all of it is one address. */
const IPV6_PREFIX = 48;
/** What an address may begin of its sign-ins before it counts as one that has begun many. */
const FEW = 1 / 4;

type CountedRequest = Request & { readonly rateLimit?: RateLimitInfo };

/**
 * Whether the address of a request that the limit let through has begun many sign-ins: they should take little room each.
 * Never where there is no limit.
 */
export function hasBegunMany(req: Request): boolean {
  const { rateLimit: counted } = req as CountedRequest;
  return counted !== undefined && counted.used > counted.limit * FEW;
}

/**
 * Lets so many sign-ins of an address begin in ten minutes, over all processes, as the configuration says; further ones are
 * a 429. Each request that gets here counts, whatever its method: each would write to Redis. Redis is told no address, but a
 * name made of it with the first session key. The log tells once for an address and a window.
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

  const namingKey = derive(deps.secrets, ({ sessionKeys: [first = ''] }) =>
    Buffer.from(hkdfSync('sha256', first, '', 'cloakroom client address', 32)),
  );
  const addressOf = (req: Request) => clientAddress(req, config.trustProxy);

  return rateLimit({
    windowMs: WINDOW_MS,
    limit: config.signInsPerAddress,
    store: createSignInCounts({
      ...deps,
      windowMs: WINDOW_MS,
      prefix: `${config.redisPrefix}sign-in-counts:`,
    }),
    keyGenerator: (req) =>
      createHmac('sha256', namingKey.current)
        .update(ipKeyGenerator(addressOf(req), IPV6_PREFIX))
        .digest('base64url'),
    // It would look for slips of the hand at the first request, and print them.
    validate: false,
    // What is left is nobody's business.
    legacyHeaders: false,
    standardHeaders: false,
    handler(req, res, next) {
      const { used, limit, resetTime } = (req as Required<CountedRequest>).rateLimit;
      if (used === limit + 1)
        log.warn({ requestId: requestId(res), client: addressOf(req) }, 'sign-ins of an address are limited');
      const leftMs = (resetTime?.getTime() ?? 0) - Date.now();
      const retryAfterSeconds = Math.max(1, Math.ceil(leftMs / 1_000));
      next(new AppError('too_many_sign_ins', { retryAfterSeconds }));
    },
  });
}
