import type { Config } from '../config.ts';
import { derive } from '../platform/changing.ts';
import type { Changing } from '../platform/changing.ts';
import type { Logger } from '../platform/log.ts';
import type { RedisClient } from '../platform/redis.ts';
import type { SessionServices } from '../session/session-services.ts';
import { createOAuthClient } from './oauth-client.ts';
import type { OAuthClient } from './oauth-client.ts';
import { createRenewalAttempts } from './renewal-attempts.ts';
import { createRenewalLocks } from './renewal-lock.ts';
import type { RenewalMetrics } from './renewal-metrics.ts';
import { createSignInAttempts } from './sign-in-attempts.ts';
import type { SignInAttempts } from './sign-in-attempts.ts';
import type { TokenEndpointMetrics } from './token-endpoint-metrics.ts';
import { createTokenKeeper } from './token-keeper.ts';
import type { TokenKeeper } from './token-keeper.ts';

/** What signs people in, and keeps their tokens fresh. */
export interface AuthServices {
  readonly oauth: OAuthClient;
  /** Disposing lets renewals under way finish. */
  readonly tokens: TokenKeeper;
  readonly attempts: SignInAttempts;
}

/** Makes those of one process. `now` is in ms since the epoch; `meters` are null where nobody reads them. */
export function createAuthServices(deps: {
  readonly config: Config;
  readonly secrets: Changing<Pick<Config, 'clientSecret'>>;
  readonly sessions: SessionServices;
  readonly redis: RedisClient;
  readonly meters: {
    readonly tokenEndpoint: TokenEndpointMetrics;
    readonly renewals: RenewalMetrics;
  } | null;
  readonly log: Logger;
  readonly now: () => number;
}): AuthServices {
  const { config, redis, meters, log, now } = deps;
  const { sealer, records, life } = deps.sessions;
  const kept = { redis, prefix: config.redisPrefix, idleSeconds: config.sessionIdleSeconds };
  const oauth = createOAuthClient({
    ...config,
    clientSecret: derive(deps.secrets, (current) => current.clientSecret),
    timeoutSeconds: config.tokenTimeoutSeconds,
    metrics: meters?.tokenEndpoint ?? null,
    now,
  });
  const tokens = createTokenKeeper({
    records,
    oauth,
    life,
    metrics: meters?.renewals ?? null,
    log,
    now,
    locks: createRenewalLocks(redis, config.redisPrefix),
    attempts: createRenewalAttempts({ ...kept, now }),
    idleSeconds: config.sessionIdleSeconds,
    refreshAheadSeconds: config.refreshAheadSeconds,
    tokenTimeoutSeconds: config.tokenTimeoutSeconds,
  });
  const https = config.publicOrigin.startsWith('https:');
  return { oauth, tokens, attempts: createSignInAttempts({ ...kept, sealer, https }) };
}
