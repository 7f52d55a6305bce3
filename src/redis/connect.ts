import { Cluster, Redis } from 'ioredis';
import { LOGIN, toSentinelLogin, useLogin } from './login.ts';
import type { RedisLogin } from './login.ts';
import { COMMAND_TIMEOUT_MS, endSilentConnections } from './watchdog.ts';
import type { RedisTarget } from '../config/redis-url.ts';
import { watchSentinels } from './sentinel.ts';

/** Emitted by whoever closes a connection, to what must end with it. */
export const CLOSING = Symbol('closing');

const RECONNECT_AT_MOST_MS = 1_000;
/** Then the next Sentinel is asked. */
const SENTINEL_TIMEOUT_MS = 500;
/** ioredis does that too (`slotsRefreshInterval`), and goes on after it was closed in the middle of it. */
const LOOK_AT_CLUSTER_MS = 1_000;

type Options = ReturnType<typeof connectionOptions>;

function connectionOptions({ username, password }: RedisLogin) {
  return {
    // It saves writes, but each pipeline keeps the ones before it from the garbage collector's young generation
    // (docs/decisions/0019).
    enableAutoPipelining: false,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    connectTimeout: COMMAND_TIMEOUT_MS,
    disconnectTimeout: 200,
    keepAlive: 10_000,
    retryStrategy: reconnectDelay,
    // A replica that was the master until now; before Redis 7 a script says so later in its message.
    reconnectOnError: (error: Error) => /\bREADONLY\b/.test(error.message),
    ...(username !== undefined && { username }),
    ...(password !== undefined && { password }),
  };
}

/** Connects in the background, and again whenever the connection is lost. */
export function connectRedis(target: RedisTarget): Redis | Cluster {
  const options = connectionOptions(target);
  if (target.kind === 'cluster') return connectCluster(target, options);
  const client = connectOne(target, { ...options, db: target.db });
  endSilentConnections(client);
  return client;
}

function connectOne(
  target: Exclude<RedisTarget, { kind: 'cluster' }>,
  options: Options & { db: number },
): Redis {
  switch (target.kind) {
    case 'single':
      return new Redis({ ...options, host: target.host, port: target.port, ...(target.tls && { tls: {} }) });
    case 'socket':
      return new Redis({ ...options, path: target.path });
    case 'sentinel':
      return connectBySentinels(target, options);
  }
}

/** Follows the master from one Redis to another. */
function connectBySentinels(target: RedisTarget & { kind: 'sentinel' }, options: Options): Redis {
  const login = toSentinelLogin(target);
  const client = new Redis({
    ...options,
    sentinels: target.sentinels.map((node) => ({ ...node })),
    name: target.master,
    sentinelRetryStrategy: reconnectDelay,
    sentinelCommandTimeout: SENTINEL_TIMEOUT_MS,
    ...(login.password !== undefined && { sentinelPassword: login.password }),
  });
  const sentinels = target.sentinels.map((node) => ({ ...connectionOptions(login), ...node }));
  client.once(CLOSING, watchSentinels(client, target.master, sentinels));
  return client;
}

/**
 * As with one Redis, nothing waits for a node and nothing is sent twice: what did would be done after its request was
 * answered. Keys that have moved are followed, each by itself: of a pipeline ioredis follows all or none, and hands the
 * redirection out as an error (ioredis issue 2075); at a node it would send ASKING after the command that it is for.
 */
function connectCluster(target: RedisTarget & { kind: 'cluster' }, options: Options): Cluster {
  const nodes = target.nodes.map((node) => ({ ...node }));
  const client = new Cluster(nodes, {
    enableOfflineQueue: false,
    retryDelayOnFailover: 0,
    retryDelayOnClusterDown: 0,
    clusterRetryStrategy: reconnectDelay,
    redisOptions: options,
  });
  // Before anyone needs it, for whoever comes while it connects is turned away; but not before the client has looked
  // whether the cluster is well, for which it takes a node that nobody has used yet.
  const prepare = (node: Redis) => {
    if (client.status === 'ready' && node.status === 'wait') node.connect().catch(() => {}); // "node error" tells
  };
  let login: RedisLogin = target;
  client.on(LOGIN, (changed: RedisLogin) => (login = changed));
  client.on('+node', (node: Redis) => {
    useLogin(node.options, login);
    endSilentConnections(node);
    setImmediate(prepare, node);
  });
  client.on('ready', () => client.nodes().forEach(prepare));
  // A master that hangs does not say who has taken its place.
  const looking = setInterval(() => {
    if (client.status === 'ready') client.refreshSlotsCache();
  }, LOOK_AT_CLUSTER_MS).unref();
  client.once(CLOSING, () => clearInterval(looking));
  return client;
}

function reconnectDelay(attempt: number): number {
  return Math.min(50 * 2 ** Math.min(attempt, 10), RECONNECT_AT_MOST_MS) * (0.75 + Math.random() / 2);
}
