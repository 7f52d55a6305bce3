import type { Config, Secrets } from './config/load.ts';
import type { Reloadable } from './config/reloadable.ts';
import { createAccessLog } from './http/access-log.ts';
import { createAssets } from './http/static-assets.ts';
import { createRender } from './http/templates.ts';
import { createMetrics } from './metrics.ts';
import { createOAuthServices } from './oauth/services.ts';
import type { Logger } from './observability/logger.ts';
import { closeRedis, createRedis } from './redis/client.ts';
import { changeLogin, tryLogin } from './redis/login.ts';
import { countCommands } from './redis/redis-metrics.ts';
import { createSessionReads } from './redis/session-reads.ts';
import { toRouteName } from './routes.ts';
import { createSessionServices } from './session/session-services.ts';
import { ConnectionPool } from './upstream/connection-pool.ts';
import type { Wait } from './workspaces/export/all-items.ts';
import { createWorkspaces } from './workspaces/workspaces-services.ts';

export type Services = ReturnType<typeof createServices>;

/**
 * Creates everything that the server and the app use. Redis and the service need not be reachable, because their clients connect in the
 * background and retry. Disposing of the services waits for refreshes in progress. `now` is in ms since the epoch. `wait` replaces the
 * pause before an export retries a request.
 */
export function createServices(config: Config, log: Logger, now: () => number = Date.now, wait?: Wait) {
  const secrets: { current: Secrets } = { current: config };
  /** All metrics; null if they are off. */
  const metrics = config.metricsPort === 0 ? null : createMetrics(config.build);

  const redis = createRedis(config.redis, log);
  if (metrics !== null) countCommands(redis, metrics.redis);
  const readSession = createSessionReads(redis, config.sessionIdleSeconds);
  const upstream = new ConnectionPool({
    origin: config.serviceOrigin,
    connections: config.serviceConnections,
    timeoutMs: config.serviceTimeoutSeconds * 1_000,
  });

  const { encryption, store, sessionEvents, cookie } = createSessionServices({
    config,
    secrets,
    redis,
    readSession,
    metrics: metrics?.sessions ?? null,
    log,
    now,
  });
  const { oauth, tokens, signIns } = createOAuthServices({
    config,
    secrets,
    sessions: { encryption, store, sessionEvents },
    redis,
    metrics,
    log,
    now,
  });
  const workspaces = createWorkspaces({
    service: upstream,
    recordResponse: metrics?.service.pages ?? null,
    tokens,
    sessions: store,
    redis,
    encryption,
    log,
    now,
    wait,
    prefix: config.redisPrefix,
    idleSeconds: config.sessionIdleSeconds,
    timeoutSeconds: config.serviceTimeoutSeconds,
    connections: config.serviceConnections,
  });

  const assets = createAssets();
  const accessLog = createAccessLog({
    log,
    proxies: config.trustProxy,
    toRoute: toRouteName,
    metrics: metrics?.requests ?? null,
  });

  return {
    config,
    log,
    now,
    metrics,
    redis,
    readSession,
    upstream,
    encryption,
    store,
    sessionEvents,
    cookie,
    oauth,
    tokens,
    signIns,
    workspaces,
    assets,
    render: createRender({ asset: assets.url }),
    accessLog,
    /** The current secrets. `config` keeps the secrets that the process started with. */
    secrets: secrets as Reloadable<Secrets>,
    /**
     * Replaces all secrets in one step, without interrupting requests. An unchanged secret must be the same object. If Redis
     * refuses the new login, rejects with a ConfigError and changes nothing.
     */
    async useSecrets(replaced: Secrets): Promise<void> {
      if (replaced.redis !== secrets.current.redis) {
        await tryLogin(redis, replaced.redis, config.redisPrefix);
        await changeLogin(redis, replaced.redis);
      }
      secrets.current = replaced;
    },
    async [Symbol.asyncDispose](): Promise<void> {
      await tokens[Symbol.asyncDispose]();
      await upstream.destroy();
      await closeRedis(redis);
    },
  };
}
