import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { variables, DEMO_CLIENT } from '../../config/schema.ts';
import { ConfigError, readVariables, type Env } from '../../config/env.ts';
import { exitCodeOf } from '../../process.ts';

// For docker-compose.yml: puts what is secret into a folder that the containers share, each in a file that only those who need it can
// read. What is given in CLIENT_SECRET and SESSION_KEYS, or in files that CLIENT_SECRET_FILE and SESSION_KEYS_FILE name, takes the place
// of what is there; what is neither given nor there is made.
//   secrets-volume.js FOLDER

/** What the image runs as, and what docker-compose.yml has the local service run as: of the other's files neither can read one. */
const APP = 1000;
const LOCAL_SERVICE = 1001;
const OWNER_ONLY = 0o400;
const ALL = 0o444;

/** How its keys in Redis begin. */
const LOCAL_SERVICE_KEYS = 'local-service:';

/** Where the Redis of docker-compose.yml is found. */
const REDIS_HOST = 'redis:6379';

const given = {
  CLIENT_ID: variables.CLIENT_ID.optional(),
  CLIENT_SECRET: variables.CLIENT_SECRET.optional(),
  SESSION_KEYS: variables.SESSION_KEYS.optional(),
  LOCAL_SERVICE_CLIENT_SECRET: variables.CLIENT_SECRET.optional(),
} as const;

function putSecrets(folder: string, env: Env): void {
  const { values, problems } = readVariables(given, env, ['CLIENT_SECRET', 'SESSION_KEYS']);
  // Nobody else's app shall sign in with the demo's secret, and wonder.
  const missing =
    values.CLIENT_ID !== undefined && values.CLIENT_SECRET === undefined && !hasProblem(problems);
  const all = [...problems, ...(missing ? ['CLIENT_SECRET is required where CLIENT_ID is set'] : [])];
  if (all.length > 0) throw new ConfigError(all);

  // Without a word from the operator CLIENT_ID is the local service's.
  const demoSecret = values.LOCAL_SERVICE_CLIENT_SECRET ?? DEMO_CLIENT.secret;
  put('client-secret', values.CLIENT_SECRET ?? demoSecret, OWNER_ONLY);
  const keys = values.SESSION_KEYS?.map((key) => key.toString('base64url')).join(',');
  if (keys !== undefined) put('session-keys', keys, OWNER_ONLY);
  else if (!isThere('session-keys')) put('session-keys', newSecret(), OWNER_ONLY);
  const isComplete = ['redis-url', 'local-service-redis-url', 'users.acl'].every(isThere);
  if (!isComplete) {
    const passwords = { app: passwordIn('redis-url'), localService: passwordIn('local-service-redis-url') };
    put('users.acl', redisUsers(passwords), ALL);
    put('redis-url', redisUrl('cloakroom', passwords.app), OWNER_ONLY);
    put(
      'local-service-redis-url',
      redisUrl('local-service', passwords.localService),
      OWNER_ONLY,
      LOCAL_SERVICE,
    );
  }

  function isThere(name: string): boolean {
    return existsSync(join(folder, name));
  }

  /** The one that is in use, or else a new one. */
  function passwordIn(name: string): string {
    return isThere(name) ? new URL(readFileSync(join(folder, name), 'utf8')).password : newSecret();
  }

  /** Whole or not at all: whoever reads meanwhile, or after we were killed, finds what was there before. */
  function put(name: string, content: string, mode: number, owner = APP): void {
    const file = join(folder, name);
    const next = `${file}.next`;
    writeFileSync(next, `${content}\n`, { mode: 0o600 });
    chmodSync(next, mode); // while it is ours
    if (process.getuid?.() === 0) chownSync(next, owner, owner);
    renameSync(next, file);
  }
}

function hasProblem(problems: readonly string[]): boolean {
  return problems.some((problem) => problem.startsWith('CLIENT_SECRET'));
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

function redisUrl(user: string, password: string): string {
  return `redis://${user}:${password}@${REDIS_HOST}`;
}

/**
 * Redis's own list of users. The passwords are random enough for their hashes to be read by anybody. With its one the app may do
 * everything but administer Redis (INFO tells whether it is full); with the other one the local service may, to keys of its own;
 * and as `health` one may say PING.
 */
function redisUsers({ app, localService }: Readonly<Record<'app' | 'localService', string>>): string {
  const hash = (password: string) => createHash('sha256').update(password).digest('hex');
  const rights = 'resetchannels +@all -@admin -@dangerous +info';
  return [
    // Nobody can be it, but Redis is, when it reads its append-only file: what this user may not do is left out then, and lost.
    'user default off ~* &* +@all',
    `user cloakroom on #${hash(app)} ~* ${rights}`,
    `user local-service on #${hash(localService)} ~${LOCAL_SERVICE_KEYS}* ${rights}`,
    'user health on nopass resetkeys resetchannels -@all +ping',
  ].join('\n');
}

process.exitCode = await exitCodeOf(async () => {
  const [folder = ''] = process.argv.slice(2);
  putSecrets(folder, process.env);
  return 0;
});
