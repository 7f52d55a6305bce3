import { isDeepStrictEqual } from 'node:util';
import { fileVariables } from './schema.ts';
import { loadConfig } from './load.ts';
import type { Secrets } from './load.ts';
import { ConfigError } from './env-variables.ts';
import type { Env } from './env-variables.ts';
import { isSameRedis } from './redis-url.ts';
import type { Logger } from '../observability/logger.ts';
import type { Reloadable } from './reloadable.ts';
import type { CountReload } from './secrets-reload-metrics.ts';

/** Where each secret of a configuration comes from. */
const VARIABLES = {
  clientSecret: 'CLIENT_SECRET',
  redis: 'REDIS_URL',
  sessionKeys: 'SESSION_KEYS',
} as const satisfies Record<keyof Secrets, (typeof fileVariables)[number]>;

const SECRETS = Object.keys(VARIABLES) as (keyof Secrets)[];

/** What a reload reads, changes and reports to: the services of the process. */
interface SecretsUser {
  readonly log: Logger;
  readonly metrics: { readonly countReload: CountReload } | null;
  readonly secrets: Reloadable<Secrets>;
  readonly useSecrets: (replaced: Secrets) => Promise<void>;
}

/**
 * Makes what reads the files of `NAME_FILE` variables again, and lets the services go on with what they hold now: all of it
 * or, where anything is wrong with one of them, nothing. Never rejects: the log tells what came of it, by the names of
 * variables and without a value.
 */
export function createSecretsReload(
  env: Env,
  { log, metrics, secrets, useSecrets }: SecretsUser,
): () => Promise<void> {
  const isFromFile = fileVariables.some((name) => env[`${name}_FILE`]);

  return async () => {
    if (!isFromFile) {
      log.info('no secret comes from a file: there is nothing to read again');
      return;
    }
    try {
      const { current } = secrets;
      const read = loadConfig(env);
      if (!isSameRedis(read.redis, current.redis))
        throw new ConfigError([
          'REDIS_URL has more to it than another user or password: that needs a restart',
        ]);
      const changed = SECRETS.filter((name) => !isDeepStrictEqual(read[name], current[name]));
      await useSecrets({ ...current, ...Object.fromEntries(changed.map((name) => [name, read[name]])) });
      // Whoever changes a secret waits for this line: files that nobody has put there yet must not be taken for the new ones.
      if (changed.length === 0) log.info('secrets are read again: nothing has changed');
      else log.info({ changed: changed.map((name) => VARIABLES[name]) }, 'secrets are read again');
      if (!read.sessionKeys.some((key) => isDeepStrictEqual(key, current.sessionKeys[0])))
        log.warn('the session key that encrypted until now is gone: what it encrypted opens no more');
      metrics?.countReload('done');
    } catch (error) {
      const why = error instanceof ConfigError ? { problems: error.problems } : { err: error };
      log.error(why, 'secrets are not read again: those from before stay');
      metrics?.countReload('failed');
    }
  };
}
