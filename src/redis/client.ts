import { once, type EventEmitter } from 'node:events';
import { Cluster, Redis } from 'ioredis';
import type { RedisTarget } from '../config/redis-url.ts';
import { AppError, StartupError } from '../errors.ts';
import { toLoggableMessage, type Logger } from '../observability/logger.ts';
import { LOGIN, useLogin, type RedisLogin } from './login.ts';
import { connectThroughSentinels } from './sentinel.ts';
import { COMMAND_TIMEOUT_MS, RedisTimeoutError, endSilentConnections } from './watchdog.ts';

/** A client for a single Redis, a Redis behind Sentinels, or a cluster. All three accept the same commands. */
export type RedisClient = Redis | Cluster;

/** The event that closeRedis() emits to stop the client's timers and close its extra connections. */
const CLOSING = Symbol('closing');

/** Interval between slot refreshes. Replaces ioredis's `slotsRefreshInterval`, which keeps running if a client closes during a refresh. */
const REFRESH_SLOTS_EVERY_MS = 1_000;
const MAX_RECONNECT_DELAY_MS = 1_000;
const READY_TIMEOUT_MS = 5_000;

/**
 * Connects to Redis in the background and reconnects whenever the connection is lost. Commands fail immediately while there is no
 * connection. Logs once when the connection is lost and once when it is restored, without the URL or password.
 */
export function createRedis(target: RedisTarget, log: Logger): RedisClient {
  const client = target.kind === 'cluster' ? connectCluster(target, log) : connect(target);
  let isLost = false;
  client.on('error', (error: Error) => {
    if (isLost) return;
    isLost = true;
    log.warn({ err: error }, 'redis connection lost');
  });
  client.on('ready', () => {
    if (isLost) log.info('redis connection restored');
    isLost = false;
  });
  client.once(CLOSING, () => (isLost = true)); // errors on a closing connection are expected
  return client;
}

/** Redis is unreachable, full or too slow. The session and its cookie remain valid. */
export class StoreUnavailableError extends AppError {
  override readonly name = 'StoreUnavailableError';

  constructor(cause: unknown, detail?: string) {
    super('session_store_unavailable', { detail, cause });
  }
}

/** Waits at most 1.5 s for the reply to a Redis command. Rejects with StoreUnavailableError if the command fails. */
export function storeReply<T>(command: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new StoreUnavailableError(new RedisTimeoutError()));
    // If the process was paused, first read any reply that is already in the socket buffer.
    const timer = setTimeout(() => setImmediate(giveUp), COMMAND_TIMEOUT_MS);
    const onReply = (reply: T) => {
      clearTimeout(timer);
      resolve(reply);
    };
    const onError = (error: unknown) => {
      clearTimeout(timer);
      reject(new StoreUnavailableError(error));
    };
    command.then(onReply, onError);
  });
}

/**
 * Resolves once commands can be sent; in a cluster, to every reachable master. On the first failure, or after five seconds,
 * rejects with a StartupError that gives the reason. The error omits the address, which may contain a password.
 */
export async function redisReady(client: RedisClient): Promise<void> {
  const signal = AbortSignal.timeout(READY_TIMEOUT_MS);
  const connected = async (to: EventEmitter & Pick<RedisClient, 'status'>) =>
    to.status === 'ready' || once(to, 'ready', { signal });
  try {
    await connected(client);
    if (client instanceof Cluster) await Promise.allSettled(client.nodes('master').map(connected));
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    const why = code ?? (cause instanceof Error ? toLoggableMessage(cause) : 'it does not respond');
    throw new StartupError(`Redis can't be used: ${why}. Check REDIS_URL.`, { cause });
  }
}

/** Closes a client gracefully with QUIT if Redis replies, otherwise immediately. */
export async function closeRedis(client: RedisClient): Promise<void> {
  client.emit(CLOSING);
  await client.quit().catch(() => client.disconnect());
}

function connect(target: Exclude<RedisTarget, { kind: 'cluster' }>): Redis {
  const options = { ...connectionOptions(target), db: target.db };
  if (target.kind === 'sentinel') {
    const { client, stop } = connectThroughSentinels(target, options);
    client.once(CLOSING, stop);
    return client;
  }
  const client =
    target.kind === 'socket'
      ? new Redis({ ...options, path: target.path })
      : new Redis({ ...options, host: target.host, port: target.port, ...(target.tls && { tls: {} }) });
  endSilentConnections(client);
  return client;
}

export type ConnectionOptions = ReturnType<typeof connectionOptions>;

/** Returns the options for every connection. Commands never wait for a connection and are never sent twice. */
function connectionOptions({ username, password }: RedisLogin) {
  return {
    // Pipelines reference each other, so minor garbage collections can't free them (docs/decisions/0004).
    enableAutoPipelining: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: COMMAND_TIMEOUT_MS,
    disconnectTimeout: 200,
    keepAlive: 10_000,
    retryStrategy: reconnectDelay,
    // Reconnect after a master has become a replica. In Redis 6, errors from scripts don't begin with READONLY.
    reconnectOnError: (error: Error) => /\bREADONLY\b/.test(error.message),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  };
}

function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 10), MAX_RECONNECT_DELAY_MS) * (0.75 + Math.random() / 2);
}

/**
 * Connects to a cluster. Commands never wait for a node, because they could then run after the response to their request has been sent.
 * ioredis follows redirections for single commands. In a pipeline, ioredis follows redirections only if they apply to all keys, and
 * otherwise returns them as errors (ioredis issue 2075).
 */
function connectCluster(target: RedisTarget & { kind: 'cluster' }, log: Logger): Cluster {
  const nodes = target.nodes.map((node) => ({ ...node }));
  const client = new Cluster(nodes, {
    enableOfflineQueue: false,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    clusterRetryStrategy: reconnectDelay,
    redisOptions: connectionOptions(target),
  });
  // Connect to each node before the first command needs it, because commands fail while their node is connecting. Wait until the
  // client is ready, because its initial query of the cluster state needs an unconnected node.
  const connectNode = (node: Redis) => {
    if (client.status === 'ready' && node.status === 'wait') node.connect().catch(() => {}); // see "node error"
  };
  let login: RedisLogin = target;
  client.on(LOGIN, (changed: RedisLogin) => (login = changed));
  client.on('+node', (node: Redis) => {
    useLogin(node.options, login);
    endSilentConnections(node);
    setImmediate(connectNode, node);
  });
  client.on('ready', () => client.nodes().forEach(connectNode));
  // A hung master does not announce which node has replaced it, so poll the slots.
  const refreshing = setInterval(() => {
    if (client.status === 'ready') client.refreshSlotsCache();
  }, REFRESH_SLOTS_EVERY_MS).unref();
  client.once(CLOSING, () => clearInterval(refreshing));
  logLostNodes(client, log);
  return client;
}

/** Logs once when a cluster node is lost and once when it is restored. While a node is lost, the sessions in its slots are unavailable. */
function logLostNodes(cluster: Cluster, log: Logger): void {
  const lost = new Set<string>();
  cluster.on('node error', (error: Error, node: string) => {
    if (!lost.has(node)) log.warn({ err: error, node }, 'redis node lost');
    lost.add(node);
  });
  cluster.once(CLOSING, () => cluster.removeAllListeners('node error'));
  cluster.on('+node', (connection: Redis) => {
    const node = `${connection.options.host}:${connection.options.port}`;
    connection.on('ready', () => {
      if (lost.delete(node)) log.info({ node }, 'redis node restored');
    });
  });
}
