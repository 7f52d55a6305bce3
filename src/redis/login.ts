import { Cluster, Redis, type RedisOptions } from 'ioredis';
import { ConfigError } from '../config/env.ts';
import type { RedisTarget } from '../config/redis-url.ts';
import { probeKeys } from './probe.ts';
import { COMMAND_TIMEOUT_MS, endSilentConnections } from './watchdog.ts';

export type RedisLogin = Pick<RedisTarget, 'username' | 'password'>;

/** The event that changeLogin() emits with the new login, for connections that don't belong to the client itself. */
export const LOGIN = Symbol('login');

/** Redis error codes for a missing login, a wrong user or password, and a missing permission. */
const REFUSAL = /^(?:NOAUTH|WRONGPASS|NOPERM)\b/;
const REFUSED = 'REDIS_URL has a user or password that Redis refuses';

const TRIAL_OPTIONS = {
  db: 0,
  protocol: 2, // with RESP3, ioredis starts with HELLO, and closes the connection if that is refused
  lazyConnect: true,
  enableReadyCheck: false,
  enableOfflineQueue: false,
  maxRetriesPerRequest: 0,
  connectTimeout: COMMAND_TIMEOUT_MS,
  retryStrategy: () => null,
} as const;

/** Returns the login for Sentinels, which often share the password of Redis but don't know the users of Redis. */
export function toSentinelLogin({ username, password }: RedisLogin): RedisLogin {
  return username === undefined && password !== undefined ? { password } : {};
}

/** Makes future connections with these options use the given login. */
export function useLogin(options: RedisOptions, login: RedisLogin): void {
  const sentinelPassword = options.sentinels && toSentinelLogin(login).password;
  const values = { username: login.username, password: login.password, sentinelPassword };
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) Reflect.deleteProperty(options, name);
    else Reflect.set(options, name, value);
  }
}

/**
 * Tries a login over a separate connection to each connected server. Also reads the keys that `GET /readyz` reads, because a Redis user may
 * lack permission to read them. `prefix` is the key prefix. Rejects with a ConfigError if Redis refuses the login. Ignores servers that
 * can't be reached.
 */
export async function tryLogin(client: Redis | Cluster, login: RedisLogin, prefix: string): Promise<void> {
  const keys = probeKeys(client, prefix);
  await Promise.all(connectedTo(client).map(async (connection) => tryAt(connection, login, keys)));
}

/**
 * Authenticates again on every open connection, without interrupting commands, and uses the new login for all future connections. If any
 * server refuses the new login, restores the old login on all connections and rejects with a ConfigError. A connection that is lost in the
 * meantime reconnects with the new login.
 */
export async function changeLogin(client: Redis | Cluster, login: RedisLogin): Promise<void> {
  const connected = connectedTo(client);
  const replies = await Promise.allSettled(connected.map(async (connection) => signIn(connection, login)));
  const refusal = replies.find((reply) => reply.status === 'rejected');
  if (refusal !== undefined) {
    const changed = connected.filter((_, at) => replies[at]?.status === 'fulfilled');
    await Promise.all(changed.map(signInAsBefore));
    throw refusal.reason;
  }
  for (const { options } of connectionsOf(client)) useLogin(options, login);
  client.emit(LOGIN, login);
}

function connectionsOf(client: Redis | Cluster): Redis[] {
  return client instanceof Cluster ? client.nodes() : [client];
}

function connectedTo(client: Redis | Cluster): Redis[] {
  return connectionsOf(client).filter(({ status }) => status === 'ready');
}

async function tryAt(
  connection: Redis,
  { username, password }: RedisLogin,
  keys: readonly string[],
): Promise<void> {
  const trial = openTrial(connection);
  try {
    await trial.connect();
    if (password !== undefined) await trial.auth(username ?? 'default', password);
    const { db = 0 } = connection.options;
    if (db !== 0) await trial.select(db);
    // For a key on another node, Redis returns MOVED even if the user lacks permission to read the key.
    const replies = await Promise.allSettled(keys.map(async (key) => trial.getex(key, 'EX', 1)));
    for (const reply of replies)
      if (reply.status === 'rejected' && isRefusal(reply.reason)) throw reply.reason;
  } catch (error) {
    if (isRefusal(error)) throw new ConfigError([toProblem(error.message, password)]);
  } finally {
    await trial.quit().catch(() => trial.disconnect());
  }
}

/** Creates a connection to the same server. ioredis must not send commands of its own, because the user might lack permission for them. */
function openTrial(connection: Redis): Redis {
  const { sentinels } = connection.options;
  const { remoteAddress: host = '', remotePort: port = 0 } = connection.stream;
  const trial = sentinels ? new Redis({ ...TRIAL_OPTIONS, host, port }) : connection.duplicate(TRIAL_OPTIONS);
  useLogin(trial.options, {});
  endSilentConnections(trial);
  trial.on('error', () => {}); // the interrupted command rejects
  return trial;
}

function isRefusal(error: unknown): error is Error {
  return error instanceof Error && error.name === 'ReplyError' && REFUSAL.test(error.message);
}

function toProblem(message: string, password: string | undefined): string {
  if (message.startsWith('NOPERM')) return 'REDIS_URL has a user without a permission that Cloakroom needs';
  return password === undefined ? 'REDIS_URL has no password, but Redis requires one' : REFUSED;
}

/** Authenticates on a connection. Ignores a lost connection, which uses the new login when it reconnects. */
async function signIn(connection: Redis, { username, password }: RedisLogin): Promise<void> {
  if (password === undefined) return;
  try {
    await (username === undefined ? connection.auth(password) : connection.auth(username, password));
  } catch (error) {
    if (error instanceof Error && error.name === 'ReplyError') throw new ConfigError([REFUSED]);
  }
}

/** Restores the old login. On a node that no longer accepts the old login, the connection keeps the new login. */
async function signInAsBefore(connection: Redis): Promise<void> {
  const { username, password } = connection.options;
  // A connection without a password uses the default user, whose password Redis then doesn't check.
  const login = { username: username ?? 'default', password: password ?? '' };
  await signIn(connection, login).catch(() => {});
}
