import type { Config } from '../config/load.ts';
import { derive, type Reloadable } from '../config/reloadable.ts';
import type { Logger } from '../observability/logger.ts';
import type { RedisClient } from '../redis/client.ts';
import type { SessionServices } from '../session/session-services.ts';
import { createOAuthClient } from './client.ts';
import type { OAuthClient } from './client.ts';
import { createRenewalAttempts } from './refresh/journal.ts';
import { createRenewalLocks } from './refresh/lock.ts';
import type { RenewalMetrics } from './refresh/refresh-metrics.ts';
import { createSignInTransactions } from './sign-in-transactions.ts';
import type { SignInTransactions } from './sign-in-transactions.ts';
import type { TokenEndpointMetrics } from './token-endpoint-metrics.ts';
import { createTokenProvider } from './refresh/token-provider.ts';
import type { TokenProvider } from './refresh/token-provider.ts';

/** What signs people in, and keeps their tokens fresh. */
export interface AuthServices {
  readonly oauth: OAuthClient;
  /** Disposing lets renewals under way finish. */
  readonly tokens: TokenProvider;
  readonly attempts: SignInTransactions;
}

/** Makes those of one process. `now` is in ms since the epoch; `metrics` are null where nobody reads them. */
export function createAuthServices(deps: {
  readonly config: Config;
  readonly secrets: Reloadable<Pick<Config, 'clientSecret'>>;
  readonly sessions: SessionServices;
  readonly redis: RedisClient;
  readonly metrics: {
    readonly tokenEndpoint: TokenEndpointMetrics;
    readonly renewals: RenewalMetrics;
  } | null;
  readonly log: Logger;
  readonly now: () => number;
}): AuthServices {
  const { config, redis, metrics, log, now } = deps;
  const { encryption, store, life } = deps.sessions;
  const kept = { redis, prefix: config.redisPrefix, idleSeconds: config.sessionIdleSeconds };
  const oauth = createOAuthClient({
    ...config,
    clientSecret: derive(deps.secrets, (current) => current.clientSecret),
    timeoutSeconds: config.tokenTimeoutSeconds,
    metrics: metrics?.tokenEndpoint ?? null,
    now,
  });
  const tokens = createTokenProvider({
    store,
    oauth,
    life,
    metrics: metrics?.renewals ?? null,
    log,
    now,
    locks: createRenewalLocks(redis, config.redisPrefix),
    attempts: createRenewalAttempts({ ...kept, now }),
    idleSeconds: config.sessionIdleSeconds,
    refreshAheadSeconds: config.refreshAheadSeconds,
    tokenTimeoutSeconds: config.tokenTimeoutSeconds,
  });
  const https = config.publicOrigin.startsWith('https:');
  return { oauth, tokens, attempts: createSignInTransactions({ ...kept, encryption, https }) };
}
