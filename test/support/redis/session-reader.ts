import { jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { createGetex } from '../../../src/redis/getex.ts';
import type { Getex } from '../../../src/redis/getex.ts';
import { createLog, type Logger } from '../../../src/observability/logger.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { closeRedis, createRedis, redisReady } from '../../../src/redis/client.ts';
import { eventually } from '../eventually.ts';

/** A client as Cloakroom makes it, and GETEX beside it. */
export interface GetexClient extends AsyncDisposable {
  readonly client: Redis;
  readonly getex: (key: string) => ReturnType<Getex>;
  /** Reads that went through the client until now. */
  readonly throughClient: () => number;
  /** Resolves once reads go over a connection of their own. */
  readonly apart: () => Promise<void>;
}

/** Resolves once the client is ready; the connection beside it comes when it comes. */
export async function startGetex(
  url: string,
  seconds: number,
  log: Logger = createLog('silent'),
): Promise<GetexClient> {
  const client = createRedis(parseRedisUrl(url), log);
  if (!(client instanceof Redis)) throw new Error('that is a cluster');
  await redisReady(client);
  const { mock } = jest.spyOn(client, 'getex');
  const read = createGetex(client, log);
  const getex = async (key: string) => read(key, seconds);
  const throughClient = () => mock.calls.length;
  return {
    client,
    getex,
    throughClient,
    async apart() {
      await eventually(async () => {
        const before = throughClient();
        const isAnswered = await getex('is-it-there').then(
          () => true,
          () => false,
        );
        return isAnswered && throughClient() === before;
      });
    },
    [Symbol.asyncDispose]: async () => closeRedis(client),
  };
}
