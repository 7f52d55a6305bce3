import { Redis, type RedisOptions } from 'ioredis';
import type { RedisLogin } from '../../redis/login.ts';
import type { Result } from './finding.ts';
import { lookUp, resultOrProblem } from './network-errors.ts';

const CONNECT_TIMEOUT_MS = 3_000;
const COMMAND_TIMEOUT_MS = 2_000;

/** A Redis server, Sentinel or cluster node, with its login. */
export interface RedisServer {
  /** Name in the report, without the login. */
  readonly name: string;
  readonly options: Pick<RedisOptions, 'host' | 'port' | 'path' | 'tls' | 'username' | 'password'>;
  readonly db: number;
}

/** `error` is the message from an error reply. The message may quote the command, so the doctor never prints it. */
export type Reply = { readonly value: unknown } | { readonly error: string };

/** Sends a command. Rejects if there is no reply. */
export type Send = (command: string, ...args: readonly (string | number)[]) => Promise<Reply>;

export function toServer(
  address:
    { readonly host: string; readonly port: number; readonly tls?: boolean } | { readonly path: string },
  { username, password }: RedisLogin,
  db = 0,
): RedisServer {
  const login = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  if ('path' in address) return { name: 'The socket', options: { path: address.path, ...login }, db };
  const { host, port, tls = false } = address;
  const name = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return { name, options: { host, port, ...(tls && { tls: {} }), ...login }, db };
}

/** Returns whether an ACL forbids the command. */
export function isForbidden(reply: Reply): boolean {
  return 'error' in reply && reply.error.startsWith('NOPERM');
}

/**
 * Connects, authenticates, selects the database, and calls `use` to send commands. If a step fails, resolves with the problem.
 */
export async function withConnection<T>(
  { name, options, db }: RedisServer,
  use: (send: Send) => Promise<T>,
): Promise<T | Result> {
  return resultOrProblem(name, async () => {
    if (options.host !== undefined) await lookUp(options.host);
    const client = new Redis({
      ...options,
      lazyConnect: true,
      enableReadyCheck: false,
      retryStrategy: null,
      maxRetriesPerRequest: 0,
      connectTimeout: CONNECT_TIMEOUT_MS,
      commandTimeout: COMMAND_TIMEOUT_MS,
      disconnectTimeout: 0,
    });
    // If the connection fails, commands reject only with “closed”. The first `error` event has the actual reason.
    let reason: unknown;
    client.on('error', (error: Error) => (reason ??= error));
    const send: Send = async (command, ...args) => {
      try {
        return { value: await client.call(command, ...args) };
      } catch (error) {
        if (error instanceof Error && error.name === 'ReplyError') return { error: error.message };
        throw error;
      }
    };
    try {
      await client.connect();
      // connect() resolves even if the login failed, so try PING. If an ACL forbids PING, the login has still succeeded.
      const pong = await send('PING');
      if ('error' in pong && !isForbidden(pong)) throw new Error(pong.error);
      const selected = await send('SELECT', db);
      if (db !== 0 && 'error' in selected) throw new Error(selected.error);
      return await use(send);
    } catch (error) {
      throw reason ?? error;
    } finally {
      client.disconnect();
    }
  });
}
