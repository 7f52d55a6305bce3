import type { Config } from '../config/load.ts';
import { derive, type Reloadable } from '../config/reloadable.ts';
import type { Logger } from '../observability/logger.ts';
import type { RedisClient } from '../redis/client.ts';
import type { SessionServices } from '../session/session-services.ts';
import { createOAuthClient } from './client.ts';
import type { OAuthMetrics } from './metrics.ts';
import { createRefreshJournal } from './refresh/journal.ts';
import { createRefreshLocks } from './refresh/lock.ts';
import { createTokenProvider } from './refresh/token-provider.ts';
import { createSignInTransactions } from './sign-in-transactions.ts';

export type OAuthServices = ReturnType<typeof createOAuthServices>;

/** Creates the services for sign-in and token refresh. Disposing `tokens` waits for refreshes in progress. */
export function createOAuthServices(deps: {
  readonly config: Config;
  readonly secrets: Reloadable<Pick<Config, 'clientSecret'>>;
  readonly sessions: Omit<SessionServices, 'cookie'>;
  readonly redis: RedisClient;
  readonly metrics: { readonly oauth: OAuthMetrics } | null;
  readonly log: Logger;
  readonly now: () => number;
}) {
  const { config, redis, now } = deps;
  const metrics = deps.metrics?.oauth ?? null;
  const { encryption, store, sessionEvents } = deps.sessions;
  const shared = { redis, prefix: config.redisPrefix, idleSeconds: config.sessionIdleSeconds };
  const oauth = createOAuthClient({
    ...config,
    clientSecret: derive(deps.secrets, (current) => current.clientSecret),
    timeoutSeconds: config.tokenTimeoutSeconds,
    metrics,
    now,
  });
  const tokens = createTokenProvider({
    store,
    oauth,
    locks: createRefreshLocks(redis, config.redisPrefix),
    journal: createRefreshJournal({ ...shared, now }),
    idleSeconds: config.sessionIdleSeconds,
    refreshAheadSeconds: config.refreshAheadSeconds,
    tokenTimeoutSeconds: config.tokenTimeoutSeconds,
    sessionEvents,
    metrics,
    log: deps.log,
    now,
  });
  const signIns = createSignInTransactions({ ...shared, encryption, https: config.isHttps });
  return { oauth, tokens, signIns };
}
