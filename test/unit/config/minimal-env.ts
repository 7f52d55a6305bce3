import { ConfigError } from '../../../src/config/env.ts';
import { loadConfig } from '../../../src/config/load.ts';

/** The required variables, with valid values. */
export const minimalEnv = {
  SERVICE_URL: 'https://service.example.com',
  CLIENT_ID: 'an-app',
  CLIENT_SECRET: 'a-secret',
  SCOPES: 'room:read room:write',
  REDIS_URL: 'redis://localhost',
  SESSION_KEYS: Buffer.alloc(32, 7).toString('base64url'),
};

/** Returns the problems in an environment, or an empty list if the environment is valid. */
export function problemsOf(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    loadConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}
