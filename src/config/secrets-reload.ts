import { isDeepStrictEqual } from 'node:util';
import type { Registry } from 'prom-client';
import { createCounter } from '../observability/prometheus.ts';
import type { Logger } from '../observability/logger.ts';
import { ConfigError, type Env } from './env.ts';
import { fieldOf, loadConfig, type Secrets } from './load.ts';
import { isSameRedis } from './redis-url.ts';
import type { Reloadable } from './reloadable.ts';
import { fileVariables } from './schema.ts';

export const RELOAD_OUTCOMES = ['done', 'failed'] as const;

type CountReload = (outcome: (typeof RELOAD_OUTCOMES)[number]) => void;

export function createReloadMetrics(registry: Registry): CountReload {
  const count = createCounter(registry, {
    name: 'cloakroom_secrets_reloads_total',
    help: 'Reloads of secrets from files, by outcome: done, or failed without any change.',
    values: { outcome: RELOAD_OUTCOMES },
  });
  return (outcome) => count({ outcome });
}

/**
 * Creates the SIGHUP handler, which rereads the `NAME_FILE` files and passes the new secrets to the services. If any secret has a problem,
 * no secret changes. The handler never rejects, and logs the outcome with the names of the variables but not their values.
 */
export function createSecretsReload(
  env: Env,
  services: {
    readonly log: Logger;
    readonly metrics: { readonly countReload: CountReload } | null;
    readonly secrets: Reloadable<Secrets>;
    readonly useSecrets: (replaced: Secrets) => Promise<void>;
  },
): () => Promise<void> {
  const { log, metrics, secrets, useSecrets } = services;
  const isFromFile = fileVariables.some((name) => env[`${name}_FILE`]);

  return async () => {
    if (!isFromFile) {
      log.info('no secrets to reload');
      return;
    }
    try {
      const { current } = secrets;
      const read = loadConfig(env);
      if (!isSameRedis(read.redis, current.redis))
        throw new ConfigError(['REDIS_URL names a different Redis, so Cloakroom needs a restart']);
      const changed = fileVariables.filter(
        (name) => !isDeepStrictEqual(read[fieldOf(name)], current[fieldOf(name)]),
      );
      // Keep the same object for an unchanged secret, so that values derived from it stay valid.
      const replaced = Object.fromEntries(changed.map((name) => [fieldOf(name), read[fieldOf(name)]]));
      await useSecrets({ ...current, ...replaced });
      // Log the unchanged case too, so that operators can tell if the files had not been replaced yet.
      if (changed.length === 0) log.info('secrets unchanged');
      else log.info({ changed }, 'secrets reloaded');
      if (!read.sessionKeys.some((key) => isDeepStrictEqual(key, current.sessionKeys[0])))
        log.warn('session key removed; its sessions are lost');
      metrics?.countReload('done');
    } catch (error) {
      const why = error instanceof ConfigError ? { problems: error.problems } : { err: error };
      log.error(why, 'secrets reload failed; old secrets stay in use');
      metrics?.countReload('failed');
    }
  };
}
