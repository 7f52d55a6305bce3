import { once } from 'node:events';
import { Cluster, Redis } from 'ioredis';
import { createDeferred } from './deferred.ts';
import { StoreUnavailableError } from './errors.ts';
import type { Logger } from './log.ts';
import { StartupError } from './program.ts';
import type { RedisTarget } from './redis-url.ts';

/** A connection to one Redis, a Sentinel-watched one or a cluster: the commands are the same. */
export type RedisClient = Redis | Cluster;

/**
 * The contract answers 503 within 2 s while Redis is away. One command may take this long (ms), and nothing
 * queues behind a lost connection, so that even the slowest "no" leaves time to say it.
 */
const COMMAND_TIMEOUT_MS = 1_500;
const RECONNECT_AT_MOST_MS = 1_000;

/**
 * Connects to Redis in the background, for ever: it may come later and go at any time. Commands fail at once while it
 * is away. The log tells once when it goes, and when it is back; never a URL or password.
 */
export function createRedis(target: RedisTarget, log: Logger): RedisClient {
  const client = connect(target);
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
  return client;
}

function connectionOptions(target: RedisTarget) {
  return {
    enableAutoPipelining: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: COMMAND_TIMEOUT_MS,
    connectTimeout: COMMAND_TIMEOUT_MS,
    // A peer that vanished without a word leaves a socket that only this ends.
    socketTimeout: 2 * COMMAND_TIMEOUT_MS,
    keepAlive: 10_000,
    retryStrategy: reconnectDelay,
    // A replica that was the master until now answers READONLY: ask again who the master is.
    reconnectOnError: (error: Error) => error.message.startsWith('READONLY'),
    ...(target.username !== undefined && { username: target.username }),
    ...(target.password !== undefined && { password: target.password }),
    db: target.db,
  };
}

function connect(target: RedisTarget): RedisClient {
  const options = connectionOptions(target);
  switch (target.kind) {
    case 'single':
      return new Redis({ ...options, host: target.host, port: target.port, ...(target.tls && { tls: {} }) });
    case 'socket':
      return new Redis({ ...options, path: target.path });
    case 'sentinel':
      return new Redis({
        ...options,
        sentinels: target.sentinels.map((node) => ({ ...node })),
        name: target.master,
        sentinelRetryStrategy: reconnectDelay,
      });
    case 'cluster':
      return new Cluster(
        target.nodes.map((node) => ({ ...node })),
        {
          enableAutoPipelining: true,
          enableOfflineQueue: false,
          clusterRetryStrategy: reconnectDelay,
          redisOptions: options,
        },
      );
  }
}

function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 10), RECONNECT_AT_MOST_MS) * (0.75 + Math.random() / 2);
}

/**
 * Awaits a Redis command; whatever fails in it becomes a StoreUnavailableError. The time counts from here: ioredis
 * begins to count only when a command leaves the pipeline that waits for the one before it.
 */
export async function fromStore<T>(command: Promise<T>): Promise<T> {
  const { promise: late, reject } = createDeferred<never>();
  const timer = setTimeout(() => reject(new Error('Redis did not answer in time')), COMMAND_TIMEOUT_MS);
  try {
    return await Promise.race([command, late]);
  } catch (error) {
    throw new StoreUnavailableError(error);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether Redis refused a write because it is full (`maxmemory` with `noeviction`). */
export function isOutOfMemory(error: unknown): boolean {
  const cause = error instanceof StoreUnavailableError ? error.cause : error;
  return cause instanceof Error && /\bOOM\b/.test(cause.message);
}

const READY_WITHIN_MS = 5_000;

/** The Redis that was named can't be used; says why, without its address, which may hold a password. */
class RedisUnreachableError extends StartupError {
  override readonly name = 'RedisUnreachableError';
}

/** Resolves once commands can be sent. Rejects with a StartupError at the first failure, or after five seconds. */
export async function redisReady(client: RedisClient): Promise<void> {
  if (client.status === 'ready') return;
  try {
    await once(client, 'ready', { signal: AbortSignal.timeout(READY_WITHIN_MS) });
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new RedisUnreachableError(`Redis can't be used: ${code ?? message}. Check REDIS_URL.`, { cause });
  }
}

/** Ends a connection: politely where Redis is there, and at once where it isn't. */
export async function closeRedis(client: RedisClient): Promise<void> {
  await client.quit().catch(() => client.disconnect());
}
