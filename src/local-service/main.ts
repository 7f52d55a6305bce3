import { existsSync } from 'node:fs';
import { createServer } from 'node:http';
import type { Env } from '../platform/env-variables.ts';
import { bindPort } from '../platform/listening.ts';
import { createLog } from '../platform/log.ts';
import { exitCodeOf, untilSignal } from '../platform/program.ts';
import { startPrivateRedis } from '../platform/private-redis.ts';
import { closeRedis, createRedis, redisReady } from '../platform/redis.ts';
import { parseRedisUrl } from '../platform/redis-url.ts';
import { createLocalService } from './local-service.ts';
import { loadProcessSettings } from './process-settings.ts';

/** The local service alone: starts, serves until `ended`, closes everything. */
async function serve(env: Env, ended: Promise<unknown>): Promise<void> {
  const { config, redisUrl, logLevel } = loadProcessSettings(env);
  const log = createLog(logLevel);
  await using bound = await bindPort(config.host, config.port, 'LOCAL_SERVICE_PORT');
  await using privateRedis = redisUrl === undefined ? await startPrivateRedis() : null;
  const redis = createRedis(parseRedisUrl(redisUrl ?? privateRedis?.url ?? ''), log);
  // An own Redis may come later: until then, what needs it is answered with 503.
  await redisReady(redis).catch(() => {});

  const server = createServer(createLocalService(config, redis, log)).listen(bound.socket);
  log.info({ url: bound.url }, 'listening');
  await ended;
  server.close();
  server.closeAllConnections();
  await closeRedis(redis);
}

process.exitCode = await exitCodeOf(async () => {
  if (process.env['NODE_ENV'] !== 'production' && existsSync('.env')) process.loadEnvFile('.env');
  await serve(process.env, untilSignal(process, ['SIGINT', 'SIGTERM']));
  return 0;
});
