import { Redis } from 'ioredis';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { closeRedis, createRedis, redisReady } from '../../../src/redis/client.ts';
import { createSessionReads, type ReadSession } from '../../../src/redis/session-reads.ts';

/** A client as Cloakroom makes it for one Redis or behind Sentinels, and its session reads. */
export interface SessionReader extends AsyncDisposable {
  readonly client: Redis;
  readonly read: ReadSession;
}

/** Resolves once the client is ready. `idleSeconds` is the time to live that a read gives to a key. */
export async function startSessionReader(url: string, idleSeconds: number): Promise<SessionReader> {
  const client = createRedis(parseRedisUrl(url), createLog('silent'));
  if (!(client instanceof Redis)) throw new Error('that is a cluster');
  await redisReady(client);
  const read = createSessionReads(client, idleSeconds);
  return { client, read, [Symbol.asyncDispose]: async () => closeRedis(client) };
}
