import { once } from 'node:events';
import { connect } from 'node:net';
import { Redis } from 'ioredis';
import { Failure } from './network-errors.ts';
import { requireName } from './names.ts';
import { deafToTls, forbiddenDatabase, missingDatabase, toFailure } from './redis/door.ts';
import type { Place } from './redis/place.ts';

const CONNECT_WITHIN_MS = 3_000;
const COMMAND_WITHIN_MS = 2_000;
const SEEN_WITHIN_MS = 1_000;

/** One connection, opened for a few questions. */
export interface RedisLink {
  /** What Redis answers, or why it refuses. Rejects with a Failure where it says nothing. */
  ask(command: string, ...args: readonly (string | number)[]): Promise<RedisAnswer>;
  close(): void;
}

/** `refusal`: the message of an error reply. It may quote what was sent, so that it is judged and never shown. */
export type RedisAnswer = { readonly value: unknown } | { readonly refusal: string };

/** An ACL keeps its user from it. */
export function isForbidden(answer: RedisAnswer): boolean {
  return 'refusal' in answer && answer.refusal.startsWith('NOPERM');
}

/** Opens one. Rejects with a Failure within 10 s. */
export async function openLink(place: Place): Promise<RedisLink> {
  const { options, db } = place;
  if (options.host !== undefined) await requireName(options.host);
  const client = new Redis({
    ...options,
    lazyConnect: true,
    enableReadyCheck: false,
    retryStrategy: null,
    maxRetriesPerRequest: 0,
    connectTimeout: CONNECT_WITHIN_MS,
    commandTimeout: COMMAND_WITHIN_MS,
    disconnectTimeout: 0,
  });
  // connect() only says that the connection is closed; the first error says why.
  let first: Error | undefined;
  client.on('error', (error: Error) => (first ??= error));
  const link: RedisLink = {
    async ask(command, ...args) {
      try {
        return { value: await client.call(command, ...args) };
      } catch (error) {
        if (error instanceof Error && error.name === 'ReplyError') return { refusal: error.message };
        throw toFailure(first ?? error);
      }
    },
    close: () => client.disconnect(),
  };
  try {
    await client.connect();
    // Where the log-in failed it is connected all the same, or a moment later is not.
    const answer = await link.ask('PING');
    // Who may not even say that is logged in all the same; Cloakroom never says it.
    if ('refusal' in answer && !isForbidden(answer)) throw toFailure(new Error(answer.refusal));
    const selected = db === 0 ? null : await link.ask('SELECT', db);
    if (selected !== null && 'refusal' in selected) {
      throw isForbidden(selected) ? forbiddenDatabase() : missingDatabase();
    }
    return link;
  } catch (error) {
    link.close();
    if (error instanceof Failure) throw error;
    throw (await isDeafToTls(place, first)) ? deafToTls() : toFailure(first ?? error);
  }
}

/** A Redis without TLS takes our first words for a command that has no end yet, and waits: as if they were lost. */
async function isDeafToTls({ options }: Place, error: NodeJS.ErrnoException | undefined): Promise<boolean> {
  const { host, port, tls } = options;
  if (tls === undefined || host === undefined || port === undefined || error?.code !== 'ETIMEDOUT')
    return false;
  const socket = connect({ host, port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.timeout(SEEN_WITHIN_MS) });
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
