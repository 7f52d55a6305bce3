import { ConfigError, loadConfig } from '../../src/config.ts';

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
