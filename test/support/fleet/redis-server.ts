import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { startPrivateRedis, type PrivateRedis } from '../../../src/redis/private-redis.ts';
import { freePort } from './free-port.ts';

/** A Redis on a TCP port whose data survives a crash, and faults for it. */
export interface RedisServer extends AsyncDisposable {
  readonly port: number;
  /** For `REDIS_URL`. */
  readonly url: string;
  /** kill -9: connections break, and new ones are refused. */
  kill(): Promise<void>;
  /** Starts it again on the same port. */
  restart(how: 'with its data' | 'empty'): Promise<void>;
  /** Stops it (SIGSTOP): it accepts connections and commands, and does not reply. */
  pause(): void;
  resume(): void;
  /** Makes it the replica of a master that does not exist: it refuses writes. */
  makeReadOnly(): Promise<void>;
  makeWritable(): Promise<void>;
  /** Makes it refuse commands that need memory. */
  fill(): Promise<void>;
  makeRoom(): Promise<void>;
}

/** Starts a Redis that writes each change to disk before it replies. */
export async function startRedisServer(): Promise<RedisServer> {
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
  let running: PrivateRedis = await startPrivateRedis(settings);

  const run = async (command: string, ...args: string[]) => {
    const client = new Redis({ path: running.url.replace(/^[^:]+:\/\//, '') });
    try {
      await client.call(command, ...args);
    } finally {
      client.disconnect();
    }
  };
  const signal = (name: NodeJS.Signals) => void process.kill(running.pid, name);

  return {
    port,
    url: `redis://127.0.0.1:${port}`,
    async kill() {
      signal('SIGKILL');
      await running[Symbol.asyncDispose]();
    },
    async restart(how) {
      if (how === 'empty') await rm(join(folder, 'appendonlydir'), { recursive: true });
      running = await startPrivateRedis(settings);
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    makeReadOnly: async () => run('REPLICAOF', '127.0.0.1', '1'),
    makeWritable: async () => run('REPLICAOF', 'NO', 'ONE'),
    fill: async () => run('CONFIG', 'SET', 'maxmemory', '1'),
    makeRoom: async () => run('CONFIG', 'SET', 'maxmemory', '0'),
    async [Symbol.asyncDispose]() {
      await running[Symbol.asyncDispose]();
      await rm(folder, { recursive: true });
    },
  };
}
