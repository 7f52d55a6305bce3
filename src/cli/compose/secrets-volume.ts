import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { variables } from '../../config-variables.ts';
import { DEMO_APP } from '../../local-service/demo-app.ts';
import { ConfigError, readVariables } from '../../platform/env-variables.ts';
import type { Env } from '../../platform/env-variables.ts';
import { exitCodeOf } from '../../platform/program.ts';

// For docker-compose.yml: puts what is secret into a folder that the containers share, each in a file that only those who need it can
// read. What is given in CLIENT_SECRET and SESSION_KEYS, or in files that CLIENT_SECRET_FILE and SESSION_KEYS_FILE name, takes the place
// of what is there; what is neither given nor there is made.
//   secrets-volume.js FOLDER

/** What the image runs as. */
const APP = 1000;
const APP_ONLY = 0o400;
const ALL = 0o444;

/** The user of the Redis in docker-compose.yml, and where it is found. */
const REDIS_USER = 'cloakroom';
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
  const demoSecret = values.LOCAL_SERVICE_CLIENT_SECRET ?? DEMO_APP.secret;
  put('client-secret', values.CLIENT_SECRET ?? demoSecret, APP_ONLY);
  const keys = values.SESSION_KEYS?.map((key) => key.toString('base64url')).join(',');
  if (keys !== undefined) put('session-keys', keys, APP_ONLY);
  else if (!isThere('session-keys')) put('session-keys', randomBytes(32).toString('base64url'), APP_ONLY);
  if (!isThere('redis-url') || !isThere('users.acl')) {
    const password = randomBytes(32).toString('base64url');
    put('users.acl', redisUsers(password), ALL);
    put('redis-url', `redis://${REDIS_USER}:${password}@${REDIS_HOST}`, APP_ONLY);
  }

  function isThere(name: string): boolean {
    return existsSync(join(folder, name));
  }

  /** Whole or not at all: whoever reads meanwhile, or after we were killed, finds what was there before. */
  function put(name: string, content: string, mode: number): void {
    const file = join(folder, name);
    const next = `${file}.next`;
    writeFileSync(next, `${content}\n`, { mode: 0o600 });
    chmodSync(next, mode); // while it is ours
    if (process.getuid?.() === 0) chownSync(next, APP, APP);
    renameSync(next, file);
  }
}

function hasProblem(problems: readonly string[]): boolean {
  return problems.some((problem) => problem.startsWith('CLIENT_SECRET'));
}

/**
 * Redis's own list of users. The password is random enough for its hash to be read by anybody. With it one may do everything but
 * administer Redis (INFO tells whether it is full), and as `health` say PING.
 */
function redisUsers(password: string): string {
  const hash = createHash('sha256').update(password).digest('hex');
  return [
    // Nobody can be it, but Redis is, when it reads its append-only file: what this user may not do is left out then, and lost.
    'user default off ~* &* +@all',
    `user ${REDIS_USER} on #${hash} ~* resetchannels +@all -@admin -@dangerous +info`,
    'user health on nopass resetkeys resetchannels -@all +ping',
  ].join('\n');
}

process.exitCode = await exitCodeOf(async () => {
  const [folder = ''] = process.argv.slice(2);
  putSecrets(folder, process.env);
  return 0;
});
