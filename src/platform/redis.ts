import { once } from 'node:events';
import type { EventEmitter } from 'node:events';
import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';
import { StoreUnavailableError } from './errors.ts';
import type { Logger } from './log.ts';
import { StartupError } from './program.ts';
import { CLOSING, COMMAND_TIMEOUT_MS, connectRedis } from './redis-connection.ts';
import type { RedisTarget } from './redis-url.ts';

/** A connection to one Redis, a Sentinel-watched one or a cluster: the commands are the same. */
export type RedisClient = Redis | Cluster;

/**
 * Connects to Redis in the background, for ever: it may come later and go at any time. Commands fail at once while it
 * is away. The log tells once when it goes, and when it is back; never a URL or password.
 */
export function createRedis(target: RedisTarget, log: Logger): RedisClient {
  const client = connectRedis(target);
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

/**
 * Awaits a Redis command, for 1.5 s at most; whatever fails in it becomes a StoreUnavailableError. `map` makes of the
 * answer what is wanted.
 */
export function fromStore<T>(command: Promise<T>): Promise<T>;
export function fromStore<T, R>(command: Promise<T>, map: (answer: T) => R): Promise<R>;
export function fromStore<T>(command: Promise<T>, map: (answer: T) => unknown = same): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new StoreUnavailableError(new Error('Redis did not answer in time')));
    // Where it was we who were held up, the answer is here and is read first.
    const timer = setTimeout(() => setImmediate(giveUp), COMMAND_TIMEOUT_MS);
    const onAnswer = (answer: T) => {
      clearTimeout(timer);
      try {
        resolve(map(answer));
      } catch (error) {
        reject(error instanceof Error ? error : new Error('not an Error', { cause: error }));
      }
    };
    const onError = (error: unknown) => {
      clearTimeout(timer);
      reject(new StoreUnavailableError(error));
    };
    command.then(onAnswer, onError);
  });
}

function same<T>(answer: T): T {
  return answer;
}

/**
 * Lets the commands that are sent in this turn of the event loop leave in one write: to write costs as much as all else
 * in a command. For those that many requests send at once; each node of a cluster has a connection of its own.
 */
export function gatherWrites(client: RedisClient): void {
  if (client instanceof Cluster || client.status !== 'ready') return;
  const { stream } = client;
  if (stream.writableCorked > 0) return;
  stream.cork();
  setImmediate(() => stream.uncork());
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
    const { code, message } = cause as NodeJS.ErrnoException;
    throw new RedisUnreachableError(`Redis can't be used: ${code ?? message}. Check REDIS_URL.`, { cause });
  }
}

/** Ends a connection: politely where Redis is there, and at once where it isn't. */
export async function closeRedis(client: RedisClient): Promise<void> {
  client.emit(CLOSING);
  await client.quit().catch(() => client.disconnect());
}
