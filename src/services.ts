import { createOAuthClient } from './auth/oauth-client.ts';
import type { OAuthClient } from './auth/oauth-client.ts';
import { createRenewalAttempts } from './auth/renewal-attempts.ts';
import { createRenewalLocks } from './auth/renewal-lock.ts';
import { createSignInAttempts } from './auth/sign-in-attempts.ts';
import type { SignInAttempts } from './auth/sign-in-attempts.ts';
import { createTokenKeeper } from './auth/token-keeper.ts';
import type { TokenKeeper } from './auth/token-keeper.ts';
import type { Config, Secrets } from './config.ts';
import { createMeters } from './meters.ts';
import type { Meters } from './meters.ts';
import type { Logger } from './platform/log.ts';
import { createAssets } from './platform/assets.ts';
import type { Assets } from './platform/assets.ts';
import { derive } from './platform/changing.ts';
import type { Changing } from './platform/changing.ts';
import { createGetex } from './platform/getex.ts';
import type { Getex } from './platform/getex.ts';
import { closeRedis, createRedis } from './platform/redis.ts';
import type { RedisClient } from './platform/redis.ts';
import { changeLogin } from './platform/redis-login.ts';
import { tryLogin } from './platform/redis-trial.ts';
import { createRequestLog } from './platform/request-log.ts';
import type { RequestLog } from './platform/request-log.ts';
import { createServiceClient } from './platform/service-client.ts';
import type { ServiceClient } from './platform/service-client.ts';
import { createRender } from './platform/templates.ts';
import type { Render } from './platform/templates.ts';
import { toRouteName } from './route-names.ts';
import { createSealer } from './session/sealing.ts';
import type { Sealer } from './session/sealing.ts';
import { createSessionLife } from './session/session-life.ts';
import type { SessionLife } from './session/session-life.ts';
import { createSessionRecords } from './session/session-records.ts';
import type { SessionRecords } from './session/session-records.ts';
import { createTicketCookie } from './session/ticket-cookie.ts';
import type { TicketCookie } from './session/ticket-cookie.ts';
import type { Wait } from './workspaces/exports/patience.ts';
import { createWorkspaces } from './workspaces/workspaces.ts';
import type { Workspaces } from './workspaces/workspaces.ts';

/** Everything that the rooms work with, and whatever of it has a lifetime. */
export interface Services extends AsyncDisposable {
  readonly config: Config;
  readonly log: Logger;
  readonly requests: RequestLog;
  readonly now: () => number;
  readonly redis: RedisClient;
  readonly getex: Getex;
  readonly client: ServiceClient;
  readonly sealer: Sealer;
  readonly records: SessionRecords;
  readonly life: SessionLife;
  readonly cookie: TicketCookie;
  readonly attempts: SignInAttempts;
  readonly oauth: OAuthClient;
  readonly tokens: TokenKeeper;
  readonly workspaces: Workspaces;
  readonly assets: Assets;
  readonly render: Render;
  /** What the process counts; null where nobody reads it. */
  readonly meters: Meters | null;
  /** Those in use: `config` holds the ones that the process began with. */
  readonly secrets: Changing<Secrets>;
  /**
   * Goes on with these, all at once, without a pause for anything that is under way. What hangs on one that is the very same
   * stays. Rejects with a ConfigError where Redis refuses another login: then nothing has changed.
   */
  useSecrets(replaced: Secrets): Promise<void>;
}

/**
 * Makes the services of one process. Redis and the service may be away: connections are made and made again in the
 * background. Disposing lets renewals under way finish first. `now` is in ms since the epoch; `wait` is what an export's
 * pauses are spent with.
 */
export function createServices(
  config: Config,
  log: Logger,
  now: () => number = Date.now,
  wait?: Wait,
): Services {
  const https = config.publicOrigin.startsWith('https:');
  const secrets: { current: Secrets } = { current: config };
  const sessionKeys = derive(secrets, (current) => current.sessionKeys);
  const clientSecret = derive(secrets, (current) => current.clientSecret);
  const assets = createAssets();
  const meters = config.metricsPort === 0 ? null : createMeters(config.build);
  const life = createSessionLife(log, meters?.sessions ?? null);
  const redis = createRedis(config.redis, log, meters?.redis);
  const client = createServiceClient({
    origin: config.serviceOrigin,
    connections: config.serviceConnections,
    timeoutSeconds: config.serviceTimeoutSeconds,
  });
  const sealer = createSealer(sessionKeys);
  const getex = createGetex(redis, log, meters?.redis);
  const records = createSessionRecords({
    redis,
    getex,
    sealer,
    life,
    log,
    now,
    prefix: config.redisPrefix,
    idleSeconds: config.sessionIdleSeconds,
    maxSeconds: config.sessionMaxSeconds,
  });
  const oauth = createOAuthClient({
    ...config,
    clientSecret,
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
    attempts: createRenewalAttempts({
      redis,
      now,
      prefix: config.redisPrefix,
      idleSeconds: config.sessionIdleSeconds,
    }),
    idleSeconds: config.sessionIdleSeconds,
    refreshAheadSeconds: config.refreshAheadSeconds,
    tokenTimeoutSeconds: config.tokenTimeoutSeconds,
  });

  return {
    config,
    log,
    requests: createRequestLog({
      log,
      proxies: config.trustProxy,
      toRoute: toRouteName,
      metrics: meters?.requests ?? null,
    }),
    now,
    redis,
    getex,
    client,
    sealer,
    records,
    life,
    oauth,
    tokens,
    workspaces: createWorkspaces({
      service: client,
      answered: meters?.service.pages ?? null,
      tokens,
      sessions: records,
      redis,
      sealer,
      log,
      now,
      wait,
      prefix: config.redisPrefix,
      idleSeconds: config.sessionIdleSeconds,
      timeoutSeconds: config.serviceTimeoutSeconds,
      connections: config.serviceConnections,
    }),
    cookie: createTicketCookie({ https, sameSite: config.cookieSameSite, sessionKeys }),
    attempts: createSignInAttempts({ redis, sealer, https, prefix: config.redisPrefix }),
    assets,
    render: createRender({ asset: assets.address }),
    meters,
    secrets,
    async useSecrets(replaced) {
      if (replaced.redis !== secrets.current.redis) {
        await tryLogin(redis, replaced.redis, config.redisPrefix);
        await changeLogin(redis, replaced.redis);
      }
      secrets.current = replaced;
    },
    async [Symbol.asyncDispose]() {
      await tokens[Symbol.asyncDispose]();
      await client.destroy();
      await closeRedis(redis);
    },
  };
}
