import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { controlRedis } from '../redis/redis-node.ts';
import { freePort } from './free-port.ts';

/** A Redis server on a TCP port. The server's data survives a crash, and tests can inject faults. */
export type RedisServer = Awaited<ReturnType<typeof startRedisServer>>;

/** Starts a Redis server that writes each change to disk before it replies. */
export async function startRedisServer() {
  const port = await freePort();
  const folder = await mkdtemp(join(tmpdir(), 'cloakroom-redis-data-'));
  const settings = [
    'bind 127.0.0.1',
    `port ${port}`,
    `dir ${folder}`,
    'appendonly yes',
    'appendfsync always',
    'maxmemory-policy noeviction',
  ];
  let running = await startPrivateRedis(settings);
  const control = controlRedis(() => running);
  return {
    ...control,
    port,
    /** The value for `REDIS_URL`. */
    url: `redis://127.0.0.1:${port}`,
    /** Restarts Redis on the same port. */
    async restart(how: 'with its data' | 'empty') {
      if (how === 'empty') await rm(join(folder, 'appendonlydir'), { recursive: true });
      running = await startPrivateRedis(settings);
    },
    /** Makes Redis a replica of a nonexistent master, so that it refuses writes. */
    makeReadOnly: async () => void (await control.sendCommand('REPLICAOF', '127.0.0.1', '1')),
    makeWritable: async () => void (await control.sendCommand('REPLICAOF', 'NO', 'ONE')),
    /** Makes Redis refuse commands that need memory. */
    fillMemory: async () => void (await control.sendCommand('CONFIG', 'SET', 'maxmemory', '1')),
    freeMemory: async () => void (await control.sendCommand('CONFIG', 'SET', 'maxmemory', '0')),
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}
