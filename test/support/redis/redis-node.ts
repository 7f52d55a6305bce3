import { Redis } from 'ioredis';
import {
  startPrivateRedis,
  type PrivateRedis,
  type PrivateRedisMode,
} from '../../../src/redis/private-redis.ts';
import { freePort } from '../fleet/free-port.ts';

/** One `redis-server` of several that work together, on a loopback port of its own, and what may befall it. */
export interface RedisNode extends AsyncDisposable {
  readonly port: number;
  /** The response to a command. Rejects where none comes within five seconds. */
  ask(...command: readonly string[]): Promise<unknown>;
  /** kill -9; resolves when it is gone. */
  kill(): Promise<void>;
  /** It goes on taking connections and commands, and says nothing. */
  pause(): void;
  resume(): void;
}

/** Whether it is a replica now, and says so. */
export async function isReplica(node: RedisNode): Promise<boolean> {
  const role = await node.ask('ROLE').catch(() => null); // one that changes its role closes connections
  return Array.isArray(role) && role[0] === 'slave';
}

/** What every node asks its clients and the other nodes for; a URL takes it percent-encoded only. */
export const PASSWORD = 'pass:word/@1';

const ATTEMPTS = 5;

/** Starts a node with a password; `settings` are further lines of its configuration. */
export async function startRedisNode(
  settings: (port: number) => Promise<readonly string[]> | readonly string[],
  mode: PrivateRedisMode = 'server',
): Promise<RedisNode> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    const lines = ['bind 127.0.0.1', `port ${port}`, ...(await settings(port))];
    try {
      return toNode(port, await startPrivateRedis(lines, mode));
    } catch (error) {
      // Between asking for a free port and taking it, somebody else may.
      const isTaken = error instanceof Error && error.message.includes('in use');
      if (!isTaken || attempt === ATTEMPTS) throw error;
    }
  }
}

function toNode(port: number, running: PrivateRedis): RedisNode {
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(running.pid, name);
    } catch {
      // it has ended
    }
  };
  return {
    port,
    async ask(command = '', ...args) {
      const client = new Redis({
        path: running.url.replace(/^[^:]+:\/\//, ''),
        password: PASSWORD,
        commandTimeout: 5_000,
        disconnectTimeout: 0,
        retryStrategy: null,
        enableReadyCheck: false,
      });
      client.on('error', () => {}); // the command tells
      try {
        return await client.call(command, ...args);
      } finally {
        client.disconnect();
      }
    },
    async kill() {
      signal('SIGKILL');
      await running[Symbol.asyncDispose]();
    },
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
    [Symbol.asyncDispose]: async () => running[Symbol.asyncDispose](),
  };
}
