import { randomBytes } from 'node:crypto';
import type { Env } from './config/env.ts';
import { loadConfig, withPort } from './config/load.ts';
import { bindPort } from './http/listening.ts';
import { loadProcessSettings, type LocalServiceConfig } from './local-service/config.ts';
import { createLocalService, serve } from './local-service/local-service.ts';
import { createLog } from './observability/logger.ts';
import { exitCodeOf, untilSignal } from './process.ts';
import { closeRedis, createRedis, redisReady } from './redis/client.ts';
import { startPrivateRedis } from './redis/private-redis.ts';
import { startMetrics, startServer } from './server.ts';
import { createServices } from './services.ts';

const DRAIN_MS = 2_000;
const PARENT_CHECK_MS = 500;

/** Runs the local service and Cloakroom in one process until `ended` resolves, with a private Redis unless REDIS_URL is set. */
async function demo(env: Env, ended: Promise<unknown>): Promise<void> {
  const { config: local, ...settings } = loadProcessSettings(env);
  const log = createLog(env['LOG_LEVEL'] ? settings.logLevel : 'warn');
  await using servicePort = await bindPort(local.host, local.port, 'LOCAL_SERVICE_');
  await using privateRedis = settings.redis === undefined ? await startPrivateRedis() : null;

  const loaded = loadConfig(cloakroomEnv(env, local, servicePort.url, privateRedis?.url));
  await using port = await bindPort(loaded.host, loaded.port);
  const config = withPort(loaded, port.port);
  const redirectUris = env['LOCAL_SERVICE_REDIRECT_URIS']
    ? local.redirectUris
    : [`${config.publicOrigin}/auth/callback`];

  const redis = createRedis(config.redis, log);
  await using _redis = { [Symbol.asyncDispose]: async () => closeRedis(redis) };
  await redisReady(redis);
  await using _service = await serve(createLocalService({ ...local, redirectUris }, redis, log), servicePort);
  await using services = createServices(config, log);
  await using _metrics = await startMetrics(services);
  const server = await startServer(services, port);
  try {
    await redisReady(services.redis);
    const isBehindProxy = new URL(config.publicOrigin).port !== String(port.port);
    console.log(`
  Cloakroom is ready.

    Open      ${config.publicOrigin}
    Sign in   demo / demo
${isBehindProxy ? `\n  Forward requests for the address above to ${port.url}, where Cloakroom listens.` : ''}
  The local service runs at ${config.serviceOrigin}. Press Ctrl-C to stop everything.${
    local.faults ? `\n  To make its responses fail, open ${config.serviceOrigin}/_faults.` : ''
  }
`);
    await ended;
  } finally {
    await server.drain(DRAIN_MS);
  }
}

/** Returns Cloakroom's environment: the given variables, with some replaced by the demo's own values. */
function cloakroomEnv(env: Env, local: LocalServiceConfig, serviceUrl: string, redisUrl?: string): Env {
  return {
    ...env,
    NODE_ENV: 'development',
    SERVICE_URL: serviceUrl,
    CLIENT_ID: local.clientId,
    CLIENT_SECRET: local.clientSecret,
    CLIENT_SECRET_FILE: undefined,
    SCOPES: env['SCOPES'] || local.scopes.join(' '),
    ...(redisUrl !== undefined && { REDIS_URL: redisUrl }),
    SESSION_KEYS: env['SESSION_KEYS'] || randomBytes(32).toString('base64url'),
    SESSION_KEYS_FILE: undefined,
  };
}

/** Resolves once the parent process has ended. Polls the parent process id, because no signal reports the end of a parent. */
function untilOrphaned(): Promise<void> {
  const parent = process.ppid;
  return new Promise((resolve) => {
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      resolve();
    }, PARENT_CHECK_MS).unref();
  });
}

process.exitCode = await exitCodeOf(async () => {
  await demo(
    process.env,
    Promise.race([untilSignal(process, ['SIGINT', 'SIGTERM', 'SIGHUP']), untilOrphaned()]),
  );
  return 0;
});
