import { createOAuthServices, type OAuthServices } from './oauth/services.ts';
import type { Config, Secrets } from './config/load.ts';
import { createMetrics } from './metrics.ts';
import type { Metrics } from './metrics.ts';
import type { Logger } from './observability/logger.ts';
import { createAssets } from './http/static-assets.ts';
import type { Assets } from './http/static-assets.ts';
import type { Reloadable } from './config/reloadable.ts';
import { closeRedis, createRedis, type RedisClient } from './redis/client.ts';
import { changeLogin, tryLogin } from './redis/login.ts';
import { countCommands } from './redis/redis-metrics.ts';
import { createSessionReads, type ReadSession } from './redis/session-reads.ts';
import { createAccessLog } from './http/access-log.ts';
import type { AccessLog } from './http/access-log.ts';
import { ConnectionPool } from './upstream/connection-pool.ts';
import { createRender } from './http/templates.ts';
import type { Render } from './http/templates.ts';
import { toRouteName } from './routes.ts';
import { createSessionServices } from './session/session-services.ts';
import type { SessionServices } from './session/session-services.ts';
import type { Wait } from './workspaces/export/all-items.ts';
import { createWorkspaces, type Workspaces } from './workspaces/workspaces.ts';

/** Everything that the rooms work with, and whatever of it has a lifetime. */
export interface Services extends SessionServices, OAuthServices, AsyncDisposable {
  readonly config: Config;
  readonly log: Logger;
  readonly accessLog: AccessLog;
  readonly now: () => number;
  readonly redis: RedisClient;
  readonly readSession: ReadSession;
  readonly upstream: ConnectionPool;
  readonly workspaces: Workspaces;
  readonly assets: Assets;
  readonly render: Render;
  /** What the process counts; null where nobody reads it. */
  readonly metrics: Metrics | null;
  /** Those in use: `config` holds the ones that the process began with. */
  readonly secrets: Reloadable<Secrets>;
  /**
   * Goes on with these, all at once, without a pause for anything that is under way. What hangs on one that is the very same
   * stays. Rejects with a ConfigError where Redis refuses another login: then nothing has changed.
   */
  useSecrets(replaced: Secrets): Promise<void>;
}

/**
 * Makes the services of one process. Redis and the service may be away: connections are made and made again in the
 * background. Disposing lets refreshes under way finish first. `now` is in ms since the epoch; `wait` is what an export's
 * pauses are spent with.
 */
export function createServices(
  config: Config,
  log: Logger,
  now: () => number = Date.now,
  wait?: Wait,
): Services {
  const secrets: { current: Secrets } = { current: config };
  const assets = createAssets();
  const metrics = config.metricsPort === 0 ? null : createMetrics(config.build);
  const redis = createRedis(config.redis, log);
  if (metrics !== null) countCommands(redis, metrics.redis);
  const readSession = createSessionReads(redis, config.sessionIdleSeconds);
  const upstream = new ConnectionPool({
    origin: config.serviceOrigin,
    connections: config.serviceConnections,
    timeoutMs: config.serviceTimeoutSeconds * 1_000,
  });
  const sessions = createSessionServices({
    config,
    secrets,
    redis,
    readSession,
    metrics: metrics?.sessions ?? null,
    log,
    now,
  });
  const auth = createOAuthServices({ config, secrets, sessions, redis, metrics, log, now });

  return {
    config,
    log,
    accessLog: createAccessLog({
      log,
      proxies: config.trustProxy,
      toRoute: toRouteName,
      metrics: metrics?.requests ?? null,
    }),
    now,
    redis,
    readSession,
    upstream,
    ...sessions,
    ...auth,
    workspaces: createWorkspaces({
      service: upstream,
      recordResponse: metrics?.service.pages ?? null,
      tokens: auth.tokens,
      sessions: sessions.store,
      redis,
      encryption: sessions.encryption,
      log,
      now,
      wait,
      prefix: config.redisPrefix,
      idleSeconds: config.sessionIdleSeconds,
      timeoutSeconds: config.serviceTimeoutSeconds,
      connections: config.serviceConnections,
    }),
    assets,
    render: createRender({ asset: assets.url }),
    metrics,
    secrets,
    async useSecrets(replaced) {
      if (replaced.redis !== secrets.current.redis) {
        await tryLogin(redis, replaced.redis, config.redisPrefix);
        await changeLogin(redis, replaced.redis);
      }
      secrets.current = replaced;
    },
    async [Symbol.asyncDispose]() {
      await auth.tokens[Symbol.asyncDispose]();
      await upstream.destroy();
      await closeRedis(redis);
    },
  };
}
