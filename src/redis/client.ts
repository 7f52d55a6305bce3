import { once, type EventEmitter } from 'node:events';
import { Cluster, Redis } from 'ioredis';
import type { RedisTarget } from '../config/redis-url.ts';
import { AppError, StartupError } from '../errors.ts';
import { toLoggableMessage, type Logger } from '../observability/logger.ts';
import { LOGIN, useLogin, type RedisLogin } from './login.ts';
import { connectThroughSentinels } from './sentinel.ts';
import { COMMAND_TIMEOUT_MS, RedisTimeoutError, endSilentConnections } from './watchdog.ts';

/** A client of a single Redis, of one behind Sentinels or of a cluster. The commands are the same. */
export type RedisClient = Redis | Cluster;

/** Event that closeRedis() emits. Timers and connections beside the client end with it. */
const CLOSING = Symbol('closing');

/** ioredis has `slotsRefreshInterval` for this, but it continues after a client is closed during a refresh. */
const REFRESH_SLOTS_EVERY_MS = 1_000;
const MAX_RECONNECT_DELAY_MS = 1_000;
const READY_TIMEOUT_MS = 5_000;

/**
 * Connects to Redis in the background, and again whenever the connection is lost. Until then commands fail at once. Logs once
 * that the connection is lost and once that it is restored, never with a URL or password.
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
  client.once(CLOSING, () => (isLost = true)); // errors of a closing connection are expected
  return client;
}

/** Redis is unreachable, full or too slow. The session and its cookie are kept. */
export class StoreUnavailableError extends AppError {
  override readonly name = 'StoreUnavailableError';

  constructor(cause: unknown, detail?: string) {
    super('session_store_unavailable', { detail, cause });
  }
}

/**
 * Awaits the reply to a Redis command, for 1.5 s at most. Rejects with StoreUnavailableError for any failure of the command.
 */
export function storeReply<T>(command: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const giveUp = () => reject(new StoreUnavailableError(new RedisTimeoutError()));
    // After a pause of this process the reply may be in the socket's buffer. Read that first.
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
 * Resolves once commands can be sent, in a cluster to each reachable master. Rejects at the first failure, or after five
 * seconds, with a StartupError that says why. It leaves out the address, which may hold a password.
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

/** Closes a client, with QUIT where Redis replies, and otherwise at once. */
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

/** The options of every connection. No command waits for a connection, and none is sent twice. */
function connectionOptions({ username, password }: RedisLogin) {
  return {
    // Pipelines keep each other from the garbage collector's young generation (docs/decisions/0004).
    enableAutoPipelining: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: COMMAND_TIMEOUT_MS,
    disconnectTimeout: 200,
    keepAlive: 10_000,
    retryStrategy: reconnectDelay,
    // Reconnect once a master has become a replica. In Redis 6, the word comes later in a script's error.
    reconnectOnError: (error: Error) => /\bREADONLY\b/.test(error.message),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  };
}

function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 10), MAX_RECONNECT_DELAY_MS) * (0.75 + Math.random() / 2);
}

/**
 * Connects to a cluster. No command waits for a node, because it could then run after its request has been responded to. For
 * single commands ioredis follows a key that moved. In a pipeline it follows all keys or none, and passes the redirection on as
 * an error (ioredis issue 2075).
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
  // Connect to a node before the first command needs it, because a command fails while its node connects. Let the client query
  // the state of the cluster first, for which it needs a node without a connection.
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
  // A master that hangs does not announce which node has replaced it.
  const refreshing = setInterval(() => {
    if (client.status === 'ready') client.refreshSlotsCache();
  }, REFRESH_SLOTS_EVERY_MS).unref();
  client.once(CLOSING, () => clearInterval(refreshing));
  logLostNodes(client, log);
  return client;
}

/**
 * Logs once that a node of a cluster is lost, and once that it is back. The sessions in its slots are unavailable meanwhile.
 */
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
