import { Failure, failureOf } from '../network-errors.ts';

/** It was meant to be spoken to without TLS. */
export function deafToTls(): Failure {
  return new Failure(
    'takes the connection, but no TLS comes about',
    'Check the port, whether it is meant to be without TLS (redis://), and that it does not hang.',
  );
}

/** An ACL keeps its user from SELECT. */
export function forbiddenDatabase(): Failure {
  return new Failure(
    'does not let its user go to the database that REDIS_URL names (SELECT)',
    'Allow it: ACL SETUSER <user> +select. Or leave the database out.',
  );
}

/** SELECT is refused for another reason. */
export function missingDatabase(): Failure {
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

/** In words, by what a library or Redis says. */
export function toFailure(error: unknown): Failure {
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
