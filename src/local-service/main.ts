import { once } from 'node:events';
import { createServer } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError } from '../platform/env-variables.ts';
import type { Env } from '../platform/env-variables.ts';
import { AddressError, bindPort } from '../platform/listening.ts';
import { createLog } from '../platform/log.ts';
import { startPrivateRedis } from '../platform/private-redis.ts';
import { closeRedis, createRedis } from '../platform/redis.ts';
import { parseRedisUrl } from '../platform/redis-url.ts';
import { createLocalService } from './local-service.ts';
import { loadProcessSettings } from './process-settings.ts';

const READY_WITHIN_MS = 2_000;

/** The local service alone: starts, serves until `ended`, closes everything. */
async function serve(env: Env, ended: Promise<unknown>): Promise<void> {
  const { config, redisUrl, logLevel } = loadProcessSettings(env);
  const log = createLog(logLevel);
  const bound = await bindPort(config.host, config.port, 'LOCAL_SERVICE_PORT');
  await using privateRedis = redisUrl === undefined ? await startPrivateRedis() : null;
  const redis = createRedis(parseRedisUrl(redisUrl ?? privateRedis?.url ?? ''), (error) => {
    log.warn({ err: error }, 'redis connection');
  });
  // An own Redis may come later: until then, what needs it is answered with 503.
  await Promise.race([once(redis, 'ready'), delay(READY_WITHIN_MS, undefined, { ref: false })]);

  const server = createServer(createLocalService(config, redis, log)).listen(bound.socket);
  log.info({ url: bound.url }, 'listening');
  await ended;
  server.close();
  server.closeAllConnections();
  await closeRedis(redis);
}

try {
  await serve(process.env, Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]));
} catch (error) {
  if (!(error instanceof ConfigError) && !(error instanceof AddressError)) throw error;
  console.error(error.message);
  process.exitCode = 1;
}
