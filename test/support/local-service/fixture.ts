import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { loadLocalServiceConfig, type LocalServiceConfig } from '../../../src/local-service/config.ts';
import { createLocalService } from '../../../src/local-service/local-service.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { createRedis } from '../../../src/redis/client.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';

export const CALLBACK = 'http://localhost:3000/auth/callback';

export type ServiceFixture = Awaited<ReturnType<typeof startServiceFixture>>;

/** Starts a Redis, and local services on it. Disposal ends it and every service. */
export async function startServiceFixture() {
  const privateRedis = await startPrivateRedis();
  const redis = createRedis(parseRedisUrl(privateRedis.url), createLog('silent'));
  await once(redis, 'ready');
  const clock = { time: Date.now() };
  const logged: string[] = [];
  const log = createLog('info', { write: (line: string) => void logged.push(line) });
  const servers: Server[] = [];

  return {
    redis,
    /** Milliseconds; a test moves it forward. */
    clock,
    logged,
    /** Starts a service on a port of its own, as another process would. */
    async start(overrides: Partial<LocalServiceConfig> = {}) {
      const config = { ...loadLocalServiceConfig({}), ...overrides };
      const app = createLocalService(config, redis, log, () => clock.time);
      const server = createServer(app).listen(0, '127.0.0.1');
      await once(server, 'listening');
      servers.push(server);
      // Disposal of this fixture closes the server; a second close would reject.
      return Object.assign(server, { [Symbol.asyncDispose]: async () => {} });
    },
    async [Symbol.asyncDispose]() {
      for (const server of servers) {
        server.closeAllConnections();
        server.close();
      }
      // A second disconnect would leave a timer of ioredis behind.
      if (redis.status !== 'end') redis.disconnect();
      await privateRedis[Symbol.asyncDispose]();
    },
  };
}

export function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

export function originOf(server: Server): string {
  return `http://127.0.0.1:${portOf(server)}`;
}
