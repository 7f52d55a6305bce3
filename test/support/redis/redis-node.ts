import { Redis } from 'ioredis';
import {
  startPrivateRedis,
  type PrivateRedis,
  type PrivateRedisMode,
} from '../../../src/redis/private-redis.ts';
import { freePort } from '../fleet/free-port.ts';

/** The password of each node, and of the connections between them. A URL has to encode it. */
export const PASSWORD = 'pass:word/@1';

/** One Redis process of several that work together. */
export type RedisNode = Awaited<ReturnType<typeof startRedisNode>>;

/** Starts a node with the password, on a loopback port of its own. `settings` are further lines of its configuration. */
export async function startRedisNode(settings: readonly string[], mode: PrivateRedisMode = 'server') {
  const port = await freePort();
  const running = await startPrivateRedis(['bind 127.0.0.1', `port ${port}`, ...settings], mode);
  return {
    port,
    ...controlRedis(() => running, PASSWORD),
    [Symbol.asyncDispose]: async () => running[Symbol.asyncDispose](),
  };
}

/** What a test does to a Redis process. `running` gives the process, which a restart may have replaced. */
export function controlRedis(running: () => PrivateRedis, password?: string) {
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(running().pid, name);
    } catch {
      // it has ended
    }
  };
  return {
    /** Sends a command over a connection of its own. Rejects without a reply within five seconds. */
    async ask(...[command = '', ...args]: readonly string[]): Promise<unknown> {
      const client = new Redis({
        path: running().url.replace(/^[^:]+:\/\//, ''),
        ...(password !== undefined && { password }),
        commandTimeout: 5_000,
        disconnectTimeout: 0,
        retryStrategy: null,
        enableReadyCheck: false,
      });
      client.on('error', () => {}); // the command rejects
      try {
        return await client.call(command, ...args);
      } finally {
        client.disconnect();
      }
    },
    /** kill -9: connections break, and new ones are refused. */
    async kill() {
      signal('SIGKILL');
      await running()[Symbol.asyncDispose]();
    },
    /** Stops the process (SIGSTOP): it accepts connections and commands, and does not reply. */
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
  };
}

/** Whether a node is a replica. A node that changes its role closes connections. */
export async function isReplica(node: RedisNode): Promise<boolean> {
  const role = await node.ask('ROLE').catch(() => null);
  return Array.isArray(role) && role[0] === 'slave';
}
