import { once } from 'node:events';
import type { EventEmitter } from 'node:events';
import { Cluster } from 'ioredis';
import type { Command, Redis } from 'ioredis';
import { StoreUnavailableError } from '../errors.ts';
import { toLoggedMessage, type Logger } from '../observability/logger.ts';
import { StartupError } from '../errors.ts';
import { CLOSING, connectRedis } from './connect.ts';
import { COMMAND_TIMEOUT_MS, RedisTimeoutError } from './watchdog.ts';
import type { RedisMetrics } from './redis-metrics.ts';
import type { RedisTarget } from '../config/redis-url.ts';

/** A connection to one Redis, a Sentinel-watched one or a cluster: the commands are the same. */
export type RedisClient = Redis | Cluster;

/**
 * Connects to Redis in the background, for ever: it may come later and go at any time. Commands fail at once while it
 * is away. The log tells once when it goes, and when it is back; never a URL or password. `metrics` are null where nobody
 * reads them.
 */
export function createRedis(
  target: RedisTarget,
  log: Logger,
  metrics: RedisMetrics | null = null,
): RedisClient {
  const client = connectRedis(target);
  if (metrics !== null) countCommands(client, metrics);
  let isAway = false;
  client.on('error', (error: Error) => {
    if (isAway) return;
    isAway = true;
    log.warn({ err: error }, 'redis is away');
  });
  client.on('ready', () => {
    if (isAway) log.info('redis is back');
    isAway = false;
  });
  client.once(CLOSING, () => (isAway = true)); // what fails from now on is no news
  if (client instanceof Cluster) tellOfNodes(client, log);
  return client;
}

/**
 * Reads of sessions are counted by who makes them (getex.ts), whichever way they go. What ioredis sends by itself when it has
 * connected is left out: an older Redis refuses some of that, and it means nothing.
 */
function countCommands(client: RedisClient, metrics: RedisMetrics): void {
  const send = client.sendCommand.bind(client) as (...sent: unknown[]) => unknown;
  client.sendCommand = (command: Command, ...more: unknown[]) => {
    if (command.name !== 'getex' && client.status !== 'connect') {
      const askedAt = performance.now();
      command.promise.then(
        () => metrics.settled('other', askedAt),
        (error: unknown) => metrics.settled('other', askedAt, error),
      );
    }
    return send(command, ...more);
  };
}

/** One node of a cluster that is away is an outage for some: the log tells once, and when that node serves again. */
function tellOfNodes(cluster: Cluster, log: Logger): void {
  const away = new Set<string>();
  cluster.on('node error', (error: Error, node: string) => {
    if (!away.has(node)) log.warn({ err: error, node }, 'a redis node is away');
    away.add(node);
  });
  cluster.once(CLOSING, () => cluster.removeAllListeners('node error'));
  cluster.on('+node', (connection: Redis) => {
    const node = `${connection.options.host}:${connection.options.port}`;
    connection.on('ready', () => {
      if (away.delete(node)) log.info({ node }, 'a redis node is back');
    });
  });
}

/** Awaits a Redis command, for 1.5 s at most; whatever fails in it becomes a StoreUnavailableError. */
export function fromStore<T>(command: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new StoreUnavailableError(new RedisTimeoutError()));
    // Where it was we who were held up, the answer is here and is read first.
    const timer = setTimeout(() => setImmediate(giveUp), COMMAND_TIMEOUT_MS);
    const onAnswer = (answer: T) => {
      clearTimeout(timer);
      resolve(answer);
    };
    const onError = (error: unknown) => {
      clearTimeout(timer);
      reject(new StoreUnavailableError(error));
    };
    command.then(onAnswer, onError);
  });
}

const READY_WITHIN_MS = 5_000;

/** The Redis that was named can't be used; says why, without its address, which may hold a password. */
class RedisUnreachableError extends StartupError {
  override readonly name = 'RedisUnreachableError';
}

/**
 * Resolves once commands can be sent, in a cluster to each master that is there. Rejects with a StartupError at the
 * first failure, or after five seconds.
 */
export async function redisReady(client: RedisClient): Promise<void> {
  const signal = AbortSignal.timeout(READY_WITHIN_MS);
  const connected = async (to: EventEmitter & Pick<RedisClient, 'status'>) =>
    to.status === 'ready' || once(to, 'ready', { signal });
  try {
    await connected(client);
    if (client instanceof Cluster) await Promise.allSettled(client.nodes('master').map(connected));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code ?? (cause instanceof Error ? toLoggedMessage(cause) : 'it does not answer');
    throw new RedisUnreachableError(`Redis can't be used: ${why}. Check REDIS_URL.`, { cause });
  }
}

/** Ends a connection: politely where Redis is there, and at once where it isn't. */
export async function closeRedis(client: RedisClient): Promise<void> {
  client.emit(CLOSING);
  await client.quit().catch(() => client.disconnect());
}
