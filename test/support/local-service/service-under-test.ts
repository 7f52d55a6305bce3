import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { loadLocalServiceConfig } from '../../../src/local-service/config.ts';
import type { LocalServiceConfig } from '../../../src/local-service/config.ts';
import { createLocalService } from '../../../src/local-service/local-service.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { createRedis } from '../../../src/redis/client.ts';
import type { RedisClient } from '../../../src/redis/client.ts';

export const CALLBACK = 'http://localhost:3000/auth/callback';

/** The service's config as it comes, with what a test needs otherwise. */
function configWith(overrides: Partial<LocalServiceConfig> = {}): LocalServiceConfig {
  return { ...loadLocalServiceConfig({}), ...overrides };
}

/** Where a server listens, on 127.0.0.1. */
export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Its origin. */
export function originOf(server: Server): string {
  return `http://127.0.0.1:${portOf(server)}`;
}

/** A real Redis for one test file, and any number of processes' worth of services on it. */
export interface Bench extends AsyncDisposable {
  readonly redis: RedisClient;
  /** Milliseconds; a test moves it forward. */
  readonly clock: { time: number };
  /** Every log line so far. */
  readonly logged: string[];
  /** Starts a service on a port of its own, as a process of its own would. */
  start(overrides?: Partial<LocalServiceConfig>): Promise<Server>;
}

/** Starts Redis. Dispose of the bench to end it and every service. */
export async function openBench(): Promise<Bench> {
  const privateRedis = await startPrivateRedis();
  const redis = await connect(privateRedis.url);
  const clock = { time: Date.now() };
  const logged: string[] = [];
  const log = createLog('info', { write: (line: string) => void logged.push(line) });
  const servers: Server[] = [];

  return {
    redis,
    clock,
    logged,
    async start(overrides = {}) {
      const app = createLocalService(configWith(overrides), redis, log, () => clock.time);
      const server = createServer(app).listen(0, '127.0.0.1');
      await once(server, 'listening');
      servers.push(server);
      return server;
    },
    async [Symbol.asyncDispose]() {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
      // A second time would leave a timer of ioredis behind.
      if (redis.status !== 'end') redis.disconnect();
      await privateRedis[Symbol.asyncDispose]();
    },
  };
}

async function connect(url: string): Promise<RedisClient> {
  const redis = createRedis(parseRedisUrl(url), createLog('silent'));
  await once(redis, 'ready');
  return redis;
}
