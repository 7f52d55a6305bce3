import { readDotEnv, type Env } from '../config/env.ts';
import { parseRedisUrl } from '../config/redis-url.ts';
import { bindPort } from '../http/listening.ts';
import { createLog } from '../observability/logger.ts';
import { exitCodeOf, untilSignal } from '../process.ts';
import { closeRedis, createRedis, redisReady } from '../redis/client.ts';
import { startPrivateRedis } from '../redis/private-redis.ts';
import { loadProcessSettings } from './config.ts';
import { createLocalService, serve } from './local-service.ts';

/** Runs the local service as a standalone process until `ended` resolves. */
async function run(env: Env, ended: Promise<unknown>): Promise<void> {
  const { config, logLevel, ...settings } = loadProcessSettings(env);
  const log = createLog(logLevel);
  await using bound = await bindPort(config.host, config.port, 'LOCAL_SERVICE_');
  await using privateRedis = settings.redis === undefined ? await startPrivateRedis() : null;
  const redis = createRedis(settings.redis ?? parseRedisUrl(privateRedis?.url ?? ''), log);
  // Start even if the Redis in REDIS_URL is down. Requests that need Redis get a 503 until Redis is up.
  await redisReady(redis).catch(() => {});
  await using _redis = { [Symbol.asyncDispose]: async () => closeRedis(redis) };

  await using _serving = await serve(createLocalService(config, redis, log), bound);
  log.info({ url: bound.url }, 'listening');
  await ended;
}

process.exitCode = await exitCodeOf(async () => {
  readDotEnv(process);
  await run(process.env, untilSignal(process, ['SIGINT', 'SIGTERM', 'SIGHUP']));
  return 0;
});
