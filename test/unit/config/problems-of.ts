import { loadConfig } from '../../../src/config/load.ts';
import { ConfigError } from '../../../src/config/env-variables.ts';

/** The problems of a configuration; none where it loads. */
export function problemsOf(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    loadConfig(env);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}
