import { randomBytes } from 'node:crypto';
import { loadConfig, withPort } from './config/load.ts';
import { loadProcessSettings, type LocalServiceConfig } from './local-service/config.ts';
import { createLocalService, serve } from './local-service/local-service.ts';
import { bindPort } from './http/listening.ts';
import type { BoundPort } from './http/listening.ts';
import type { Env } from './config/env.ts';
import { createLog, type Logger } from './observability/logger.ts';
import { startMetricsServer } from './observability/metrics-server.ts';
import { exitCodeOf, untilSignal } from './process.ts';
import { startPrivateRedis } from './redis/private-redis.ts';
import { parseRedisUrl } from './config/redis-url.ts';
import { closeRedis, createRedis, redisReady } from './redis/client.ts';
import { startServer } from './server.ts';
import { createServices } from './services.ts';

const DRAIN_MS = 2_000;
const LOOK_FOR_PARENT_MS = 500;

/** A private Redis, the local service and Cloakroom wired to it, in one process, until `ended`. */
async function demo(env: Env, ended: Promise<unknown>): Promise<void> {
  const { config: local, ...settings } = loadProcessSettings(env);
  const log = createLog(env['LOG_LEVEL'] ? settings.logLevel : 'warn');
  await using servicePort = await bindPort(local.host, local.port, 'LOCAL_SERVICE_');
  await using privateRedis = settings.redisUrl === undefined ? await startPrivateRedis() : null;
  const redisUrl = settings.redisUrl ?? privateRedis?.url ?? '';

  const loaded = loadConfig(wire(env, local, servicePort, redisUrl));
  await using appPort = await bindPort(loaded.host, loaded.port);
  const config = withPort(loaded, appPort.port);

  await using serviceRedis = await connect(redisUrl, log);
  const service = createLocalService(registering(local, env, config.publicOrigin), serviceRedis.client, log);
  await using _service = await serve(service, servicePort);
  await using services = createServices(config, log);
  await using metrics =
    services.metrics &&
    (await startMetricsServer(
      services.metrics.registry,
      await bindPort(config.host, config.metricsPort, 'METRICS_'),
    ));
  if (metrics !== null) log.info({ url: metrics.url }, 'metrics are served');
  const running = await startServer(services, appPort);
  try {
    await redisReady(services.redis);
    const isBehind = new URL(config.publicOrigin).port !== String(appPort.port);
    console.log(`
  Cloakroom is ready.

    Open      ${config.publicOrigin}
    Sign in   demo / demo
${isBehind ? `\n  Cloakroom itself listens at ${appPort.url}: pass on to it what comes to that address.` : ''}
  The local service answers at ${config.serviceOrigin}. Ctrl-C ends everything.${
    local.faults ? `\n  Let its calls go wrong at ${config.serviceOrigin}/_faults.` : ''
  }
`);
    await ended;
  } finally {
    await running.drain(DRAIN_MS);
  }
}

/** Cloakroom's own configuration: whatever is set, less what the demo brings itself. */
function wire(env: Env, local: LocalServiceConfig, servicePort: BoundPort, redisUrl: string): Env {
  return {
    ...env,
    NODE_ENV: 'development',
    SERVICE_URL: servicePort.url,
    CLIENT_ID: local.clientId,
    CLIENT_SECRET: local.clientSecret,
    CLIENT_SECRET_FILE: undefined,
    SCOPES: env['SCOPES'] || local.scopes.join(' '),
    REDIS_URL: redisUrl,
    REDIS_URL_FILE: undefined,
    SESSION_KEYS: env['SESSION_KEYS'] || randomBytes(32).toString('base64url'),
    SESSION_KEYS_FILE: undefined,
  };
}

/** Unless told otherwise the local service knows Cloakroom under the address that it really has. */
function registering(local: LocalServiceConfig, env: Env, publicOrigin: string): LocalServiceConfig {
  if (env['LOCAL_SERVICE_REDIRECT_URIS']) return local;
  return { ...local, redirectUris: [`${publicOrigin}/auth/callback`] };
}

async function connect(redisUrl: string, log: Logger) {
  const client = createRedis(parseRedisUrl(redisUrl), log);
  try {
    await redisReady(client);
  } catch (error) {
    client.disconnect(); // it would go on trying
    throw error;
  }
  return { client, [Symbol.asyncDispose]: async () => closeRedis(client) };
}

/**
 * Resolves when whoever started us was killed: a parent that is tells nobody, and its child only finds that it has
 * another one.
 */
function untilOrphaned(): Promise<void> {
  const parent = process.ppid;
  return new Promise((resolve) => {
    const watch = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(watch);
      resolve();
    }, LOOK_FOR_PARENT_MS).unref();
  });
}

process.exitCode = await exitCodeOf(async () => {
  await demo(
    process.env,
    Promise.race([untilSignal(process, ['SIGINT', 'SIGTERM', 'SIGHUP']), untilOrphaned()]),
  );
  return 0;
});
