import { Redis, type RedisOptions } from 'ioredis';
import type { RedisLogin } from '../../redis/login.ts';
import { ConnectionError, requireHostName, toConnectionError } from './network-errors.ts';

const CONNECT_TIMEOUT_MS = 3_000;
const COMMAND_TIMEOUT_MS = 2_000;

/** One Redis, Sentinel or node of a cluster, and how to log in. */
export interface RedisServer {
  /** For the report; never holds the login. */
  readonly name: string;
  readonly options: Pick<RedisOptions, 'host' | 'port' | 'path' | 'tls' | 'username' | 'password'>;
  readonly db: number;
}

/** `error` is the message of an error reply. It may quote what was sent, so that the doctor never prints it. */
export type Reply = { readonly value: unknown } | { readonly error: string };

/** Sends a command. Throws a ConnectionError where no reply comes. */
export type Send = (command: string, ...args: readonly (string | number)[]) => Promise<Reply>;

export function toServer(
  address:
    { readonly host: string; readonly port: number; readonly tls?: boolean } | { readonly path: string },
  { username, password }: RedisLogin,
  db = 0,
): RedisServer {
  const login = { ...(username !== undefined && { username }), ...(password !== undefined && { password }) };
  if ('path' in address) return { name: 'its socket', options: { path: address.path, ...login }, db };
  const { host, port, tls = false } = address;
  const name = `${host.includes(':') ? `[${host}]` : host}:${port}`;
  return { name, options: { host, port, ...(tls && { tls: {} }), ...login }, db };
}

/** Whether an ACL forbids the command. */
export function isForbidden(reply: Reply): boolean {
  return 'error' in reply && reply.error.startsWith('NOPERM');
}

/** Connects, logs in, selects the database, and lets `use` send commands. Throws a ConnectionError. */
export async function withConnection<T>(server: RedisServer, use: (send: Send) => Promise<T>): Promise<T> {
  const { options, db } = server;
  if (options.host !== undefined) await requireHostName(options.host);
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
  // connect() rejects because the connection is closed; the first `error` event has the reason.
  let first: NodeJS.ErrnoException | undefined;
  client.on('error', (error: Error) => (first ??= error));
  const send: Send = async (command, ...args) => {
    try {
      return { value: await client.call(command, ...args) };
    } catch (error) {
      if (error instanceof Error && error.name === 'ReplyError') return { error: error.message };
      throw toRedisError(first ?? error);
    }
  };
  try {
    await client.connect().catch((error: unknown) => {
      // A Redis without TLS takes the start of the handshake for a command without an end.
      if (options.tls !== undefined && first?.code === 'ETIMEDOUT') {
        throw new ConnectionError(
          'can’t be reached, or does not speak TLS there',
          'Check host, port and firewalls, and whether the port is meant to be without TLS (redis://).',
        );
      }
      throw toRedisError(first ?? error);
    });
    // connect() resolves though the login failed. A user without the right to PING, which Cloakroom never sends, is logged in.
    const pong = await send('PING');
    if ('error' in pong && !isForbidden(pong)) throw toRedisError(new Error(pong.error));
    const selected = await send('SELECT', db);
    if (db !== 0 && 'error' in selected) {
      throw isForbidden(selected)
        ? new ConnectionError(
            'does not let its user select the database in REDIS_URL (SELECT)',
            'Allow it: ACL SETUSER <user> +select. Or leave the database out of REDIS_URL.',
          )
        : new ConnectionError(
            'does not have the database in REDIS_URL',
            'Leave it out, or name one that exists.',
          );
    }
    return await use(send);
  } finally {
    client.disconnect();
  }
}

/** Never with the message of Redis, which may quote what was sent. */
function toRedisError(error: unknown): ConnectionError {
  const byCode = toConnectionError(error);
  if (byCode !== undefined) return byCode;
  const message = error instanceof Error ? error.message : '';
  const [, ...words] = MESSAGES.find(([pattern]) => pattern.test(message)) ?? LAST_RESORT;
  return new ConnectionError(...words);
}

const LAST_RESORT = [
  /^/,
  'closes the connection',
  'Look at its log, and check whether it expects TLS there (rediss://).',
] as const;

const MESSAGES: readonly (readonly [pattern: RegExp, what: string, remedy: string])[] = [
  [
    /^WRONGPASS|invalid password/,
    'refuses the user or the password',
    'Check both in REDIS_URL. Special characters in them must be percent-encoded.',
  ],
  [
    /^NOAUTH/,
    'requires a password, and got none',
    'Put it into REDIS_URL: redis://:password@host. Sentinels get the password only where REDIS_URL names no user.',
  ],
  [
    /^LOADING|^DENIED|max number of clients/,
    'refuses clients for now',
    'Look at its log: it may be loading its data, have no room for clients, or be in protected mode.',
  ],
  [/RESP/, 'responds, but not as Redis does', 'Check the port, and whether it expects TLS (rediss://).'],
  [
    /timed out/,
    'accepts the connection and does not respond',
    'Look at its log: it may hang. Or it expects TLS there (rediss://).',
  ],
];
