import { createHash, randomBytes } from 'node:crypto';
import { chmodSync, chownSync, existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { variables, DEMO_CLIENT } from '../../config/schema.ts';
import { ConfigError, readVariables, type Env } from '../../config/env.ts';
import { exitCodeOf } from '../../process.ts';

// For docker-compose.yml: writes each secret to a file in a shared folder. Only the container that needs a secret can read it.
// CLIENT_SECRET and SESSION_KEYS (or the files named in CLIENT_SECRET_FILE and SESSION_KEYS_FILE) replace the secrets in the
// folder. Missing secrets are generated. Usage: secrets-volume.js FOLDER

/** The user ids of Cloakroom and the local service in docker-compose.yml. Neither user can read the other's files. */
const APP_USER = 1000;
const LOCAL_SERVICE_USER = 1001;
const OWNER_ONLY = 0o400;
const ANY_USER = 0o444;

/** The prefix of the local service's keys in Redis. */
const LOCAL_SERVICE_PREFIX = 'local-service:';

/** The Redis server in docker-compose.yml. */
const REDIS_HOST = 'redis:6379';

const secretVariables = {
  CLIENT_ID: variables.CLIENT_ID.optional(),
  CLIENT_SECRET: variables.CLIENT_SECRET.optional(),
  SESSION_KEYS: variables.SESSION_KEYS.optional(),
  LOCAL_SERVICE_CLIENT_SECRET: variables.CLIENT_SECRET.optional(),
} as const;

function writeSecrets(folder: string, env: Env): void {
  const { values, problems: found } = readVariables(secretVariables, env, ['CLIENT_SECRET', 'SESSION_KEYS']);
  const problems = [...found];
  // An operator's own app must not get the demo secret.
  const isSecretMissing = values.CLIENT_ID !== undefined && values.CLIENT_SECRET === undefined;
  if (isSecretMissing && !problems.some((problem) => problem.startsWith('CLIENT_SECRET')))
    problems.push('CLIENT_SECRET is required if CLIENT_ID is set');
  if (problems.length > 0) throw new ConfigError(problems);

  // If CLIENT_ID is not set, the app is the local service's default client.
  const demoSecret = values.LOCAL_SERVICE_CLIENT_SECRET ?? DEMO_CLIENT.secret;
  write('client-secret', values.CLIENT_SECRET ?? demoSecret, OWNER_ONLY);
  const keys = values.SESSION_KEYS?.map((key) => key.toString('base64url')).join(',');
  if (keys !== undefined) write('session-keys', keys, OWNER_ONLY);
  else if (!exists('session-keys')) write('session-keys', newSecret(), OWNER_ONLY);
  if (!['redis-url', 'local-service-redis-url', 'users.acl'].every(exists)) {
    const app = passwordIn('redis-url');
    const localService = passwordIn('local-service-redis-url');
    write('users.acl', redisUsers(app, localService), ANY_USER);
    write('redis-url', redisUrl('cloakroom', app), OWNER_ONLY);
    write('local-service-redis-url', redisUrl('local-service', localService), OWNER_ONLY, LOCAL_SERVICE_USER);
  }

  function exists(name: string): boolean {
    return existsSync(join(folder, name));
  }

  /** Returns the existing password, or generates one. */
  function passwordIn(name: string): string {
    return exists(name) ? new URL(readFileSync(join(folder, name), 'utf8')).password : newSecret();
  }

  /** Replaces the file atomically, so that readers never find a partial file, even after a crash. */
  function write(name: string, content: string, mode: number, owner = APP_USER): void {
    const file = join(folder, name);
    const next = `${file}.next`;
    writeFileSync(next, `${content}\n`, { mode: 0o600 });
    chmodSync(next, mode); // before chown, because only the owner may do this
    if (process.getuid?.() === 0) chownSync(next, owner, owner);
    renameSync(next, file);
  }
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

function redisUrl(user: string, password: string): string {
  return `redis://${user}:${password}@${REDIS_HOST}`;
}

/**
 * Returns the ACL file for Redis. Any user may read the file, because the passwords are too random to be recovered from their
 * hashes. The app can run INFO (to detect that Redis is full) and all commands that are neither administrative nor dangerous. The
 * local service has the same permissions for its own keys. `health` can run only PING.
 */
function redisUsers(appPassword: string, localServicePassword: string): string {
  const hash = (password: string) => createHash('sha256').update(password).digest('hex');
  const rights = 'resetchannels +@all -@admin -@dangerous +info';
  return [
    // Redis replays its append-only file as this user, and drops commands that this user lacks permission to run. Clients can't
    // authenticate as this user.
    'user default off ~* &* +@all',
    `user cloakroom on #${hash(appPassword)} ~* ${rights}`,
    `user local-service on #${hash(localServicePassword)} ~${LOCAL_SERVICE_PREFIX}* ${rights}`,
    'user health on nopass resetkeys resetchannels -@all +ping',
  ].join('\n');
}

process.exitCode = await exitCodeOf(async () => {
  const [folder = ''] = process.argv.slice(2);
  writeSecrets(folder, process.env);
  return 0;
});
