import { Redis } from 'ioredis';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { closeRedis, createRedis, redisReady, type RedisClient } from '../../../src/redis/client.ts';
import { createSessionReads } from '../../../src/redis/session-reads.ts';

/** Creates a client that connects in the background, as Cloakroom's own client does. */
export function createClient(url: string): RedisClient & AsyncDisposable {
  const client = createRedis(parseRedisUrl(url), createLog('silent'));
  return Object.assign(client, { [Symbol.asyncDispose]: async () => closeRedis(client) });
}

/** Creates a client and resolves once the client is ready. */
export async function openClient(url: string): Promise<RedisClient & AsyncDisposable> {
  const client = createClient(url);
  await redisReady(client);
  return client;
}

/** Creates a client for a single Redis, or for a master behind Sentinels. Resolves once the client is ready. */
export async function openRedis(url: string): Promise<Redis & AsyncDisposable> {
  const client = await openClient(url);
  if (!(client instanceof Redis)) throw new Error('the URL is for a cluster');
  return client;
}

export type SessionReader = Awaited<ReturnType<typeof openSessionReader>>;

/** Opens a client and a session reader. `idleSeconds` is the time to live that a read sets on a key. */
export async function openSessionReader(url: string, idleSeconds: number) {
  const client = await openRedis(url);
  const read = createSessionReads(client, idleSeconds);
  return { client, read, [Symbol.asyncDispose]: async () => closeRedis(client) };
}
