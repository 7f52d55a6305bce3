import { Redis } from 'ioredis';
import { Failure, failureOf } from '../failure.ts';
import { requireName } from '../names.ts';
import type { Place } from './place.ts';

const CONNECT_WITHIN_MS = 3_000;
const COMMAND_WITHIN_MS = 2_000;

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

/** Opens one. Rejects with a Failure within 9 s. */
export async function openLink({ options, db }: Place): Promise<RedisLink> {
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
    throw error instanceof Failure ? error : toFailure(first ?? error);
  }
}

function forbiddenDatabase(): Failure {
  return new Failure(
    'does not let its user go to the database that REDIS_URL names (SELECT)',
    'Allow it: ACL SETUSER <user> +select. Or leave the database out.',
  );
}

function missingDatabase(): Failure {
  return new Failure(
    'does not have the database that REDIS_URL names',
    'Leave it out, or name one that it has.',
  );
}

/** What Redis says at the door, by how it begins. */
const AT_THE_DOOR: readonly (readonly [RegExp, what: string, remedy: string])[] = [
  [
    /^WRONGPASS|invalid password/,
    'refuses the user or the password',
    'Check both in REDIS_URL; special characters in them must be percent-encoded.',
  ],
  [
    /^NOAUTH/,
    'asks for a password, and none was sent',
    'Put it into REDIS_URL: redis://:password@host. A user in REDIS_URL is for Redis only, and not for Sentinels.',
  ],
  [/^LOADING/, 'is still loading its data', 'Wait until it has, and try again.'],
  [
    /max number of clients/,
    'takes no more clients',
    'Raise its maxclients, or find out who holds so many connections.',
  ],
  [
    /^DENIED/,
    'takes nobody from outside (protected mode)',
    'Give it a password, or bind it to the right address.',
  ],
  [/RESP/, 'answers, but not as Redis does', 'Check the port, and whether it speaks TLS there (rediss://).'],
  [
    /timed out/,
    'takes the connection and says nothing',
    'Look at its log. It may hang, be paused, or speak TLS there (rediss://).',
  ],
];

function toFailure(error: unknown): Failure {
  const known = failureOf(error);
  if (known !== undefined) return known;
  const message = error instanceof Error ? error.message : '';
  const [, ...words] = AT_THE_DOOR.find(([pattern]) => pattern.test(message)) ?? [];
  if (words.length === 2) return new Failure(...words);
  return new Failure(
    'closes the connection',
    'Look at its log, and check whether it speaks TLS there (rediss://).',
  );
}
