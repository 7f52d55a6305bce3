import { Redis } from 'ioredis';
import {
  startPrivateRedis,
  type PrivateRedis,
  type PrivateRedisMode,
} from '../../../src/redis/private-redis.ts';
import { eventually } from '../eventually.ts';
import { freePort } from '../fleet/free-port.ts';

/** The password for clients and for connections between nodes. In a URL, this password must be percent-encoded. */
export const PASSWORD = 'pass:word/@1';

/** A Redis process that belongs to a group of nodes. */
export type RedisNode = Awaited<ReturnType<typeof startRedisNode>>;

/** Starts a node on its own loopback port. `settings` are additional configuration lines. */
export async function startRedisNode(settings: readonly string[], mode: PrivateRedisMode = 'server') {
  const port = await freePort();
  const running = await startPrivateRedis(['bind 127.0.0.1', `port ${port}`, ...settings], mode);
  return {
    port,
    ...controlRedis(() => running, PASSWORD),
    [Symbol.asyncDispose]: async () => running[Symbol.asyncDispose](),
  };
}

/** Returns functions that control a Redis process. `running` returns the current process, which a restart may have replaced. */
export function controlRedis(running: () => PrivateRedis, password?: string) {
  const signal = (name: NodeJS.Signals) => {
    try {
      process.kill(running().pid, name);
    } catch {
      // the process has already ended
    }
  };
  return {
    /** Sends a command over a new connection. Rejects if no reply arrives within 5 s. */
    async sendCommand(...[command = '', ...args]: readonly string[]): Promise<unknown> {
      const client = new Redis({
        path: running().url.replace(/^[^:]+:\/\//, ''),
        ...(password !== undefined && { password }),
        commandTimeout: 5_000,
        disconnectTimeout: 0,
        retryStrategy: null,
        enableReadyCheck: false,
      });
      client.on('error', () => {}); // the command rejects instead
      try {
        return await client.call(command, ...args);
      } finally {
        client.disconnect();
      }
    },
    /** Sends SIGKILL, so that connections break and new connections are refused. */
    async kill() {
      signal('SIGKILL');
      await running()[Symbol.asyncDispose]();
    },
    /** Suspends the process (SIGSTOP). The kernel still accepts connections and commands, but Redis does not reply. */
    pause: () => signal('SIGSTOP'),
    resume: () => signal('SIGCONT'),
  };
}

/** Resolves with true if a node is a replica. A node that is changing its role closes the connection and counts as no replica. */
export async function isReplica(node: RedisNode): Promise<boolean> {
  const role = await node.sendCommand('ROLE').catch(() => null);
  return Array.isArray(role) && role[0] === 'slave';
}

/**
 * Resolves once a node's replica has everything that the node holds now. Resolves at once if the node is a replica, has no replica or does
 * not reply. Does not follow a failover during the wait.
 */
export async function untilReplicated(node: RedisNode): Promise<void> {
  const read = async (pattern: RegExp) =>
    pattern.exec(String(await node.sendCommand('INFO', 'replication').catch(() => '')))?.[1];
  const held = Number((await read(/^master_repl_offset:(\d+)/m)) ?? 0);
  // The master's offset grows by a message each second, so the two offsets may never be seen equal.
  await eventually(async () => Number((await read(/^slave0:.*,offset=(\d+),/m)) ?? Infinity) >= held);
}
