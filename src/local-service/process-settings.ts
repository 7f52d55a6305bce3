import { z } from 'zod';
import { ConfigError, readVariables, type Env } from '../config/env.ts';
import { parseRedisUrl } from '../config/redis-url.ts';
import { oneOf } from '../config/schema.ts';
import { loadLocalServiceConfig, localServiceFiles, localServiceVariables } from './config.ts';
import type { LocalServiceConfig } from './config.ts';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'];

const variables = {
  ...localServiceVariables,
  REDIS_URL: redisUrl().optional(),
  LOG_LEVEL: oneOf(LOG_LEVELS).default('info'),
} as const;

/** What the local service needs as a process of its own. */
export interface ProcessSettings {
  readonly config: LocalServiceConfig;
  /** Undefined where it starts a private Redis. */
  readonly redisUrl?: string;
  /** pino's. */
  readonly logLevel: string;
}

/**
 * Reads the configuration, `REDIS_URL` (or `REDIS_URL_FILE`) and `LOG_LEVEL`. Throws a ConfigError with every
 * problem at once.
 */
export function loadProcessSettings(env: Env): ProcessSettings {
  const { values, problems } = readVariables(variables, env, ['REDIS_URL', ...localServiceFiles]);
  if (problems.length > 0) throw new ConfigError(problems);
  return {
    config: loadLocalServiceConfig(env),
    logLevel: values.LOG_LEVEL ?? 'info',
    ...(values.REDIS_URL !== undefined && { redisUrl: values.REDIS_URL }),
  };
}

function redisUrl() {
  return z.string().superRefine((url, context) => {
    try {
      parseRedisUrl(url);
    } catch (error) {
      context.addIssue(error instanceof Error ? error.message : 'is malformed');
    }
  });
}
