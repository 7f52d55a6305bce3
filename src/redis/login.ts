import { Cluster } from 'ioredis';
import type { Redis, RedisOptions } from 'ioredis';
import { ConfigError } from '../config/env.ts';
import type { RedisTarget } from '../config/redis-url.ts';

/** Who we are to Redis. */
export type RedisLogin = Pick<RedisTarget, 'username' | 'password'>;

/** Emitted by changeLogin() on a client, with the new login, to whatever connects beside it. */
export const LOGIN = Symbol('login');

/** Who we are to Sentinels: often the password is theirs too, and one without any takes it. They don't know the users of their Redis. */
export function toSentinelLogin({ username, password }: RedisLogin): RedisLogin {
  return username === undefined && password !== undefined ? { password } : {};
}

/** What connects with these options does so with this login from now on. */
export function useLogin(options: RedisOptions, login: RedisLogin): void {
  const sentinelPassword = options.sentinels && toSentinelLogin(login).password;
  const values = { username: login.username, password: login.password, sentinelPassword };
  for (const [name, value] of Object.entries(values)) {
    if (value === undefined) Reflect.deleteProperty(options, name);
    else Reflect.set(options, name, value);
  }
}

/**
 * Signs in anew over every connection that stands, without a pause for what is sent over it, and with every one from
 * now on. Rejects with a ConfigError where Redis says no: then each goes on as it was, those nodes of a cluster, too, that
 * had said yes by then. A Redis that is away is not asked; it is when it is back.
 */
export async function changeLogin(client: Redis | Cluster, login: RedisLogin): Promise<void> {
  const connections = () => (client instanceof Cluster ? client.nodes() : [client]);
  const standing = connections().filter(({ status }) => status === 'ready');
  const answers = await Promise.allSettled(standing.map(async (connection) => signIn(connection, login)));
  const refusal = answers.find((answer) => answer.status === 'rejected');
  if (refusal !== undefined) {
    const changed = standing.filter((_, at) => answers[at]?.status === 'fulfilled');
    await Promise.all(changed.map(signInAsBefore));
    throw refusal.reason;
  }
  for (const { options } of connections()) useLogin(options, login);
  client.emit(LOGIN, login);
}

/** One that breaks meanwhile, or was silent for too long and is ended, comes back with the new login. */
async function signIn(connection: Redis, { username, password }: RedisLogin): Promise<void> {
  if (password === undefined) return;
  try {
    await (username === undefined ? connection.auth(password) : connection.auth(username, password));
  } catch (error) {
    if (error instanceof Error && error.name === 'ReplyError')
      throw new ConfigError(['REDIS_URL has a user or password that Redis refuses']);
  }
}

/** A node that does not take the login from before any more goes on with the new one. */
async function signInAsBefore(connection: Redis): Promise<void> {
  const { username, password } = connection.options;
  // Who gave no password was let in as the default user, who then takes any.
  const login = { username: username ?? 'default', password: password ?? '' };
  await signIn(connection, login).catch(() => {});
}

/** The same over a connection that we speak on ourselves: AUTH as RESP has it, each byte a character. */
export function toAuthCommand({ username, password = '' }: RedisLogin): string {
  const words = ['AUTH', ...(username === undefined ? [] : [username]), password];
  const parts = words.map((word) => Buffer.from(word).toString('latin1'));
  return `*${parts.length}\r\n${parts.map((part) => `$${part.length}\r\n${part}\r\n`).join('')}`;
}
