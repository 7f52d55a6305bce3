import { readConfig } from '../../config/load.ts';
import type { Env } from '../../config/env.ts';

type Values = ReturnType<typeof readConfig>['values'];

/** What of a configuration can be examined further. */
export interface Settings {
  readonly env: Env;
  readonly isProduction: boolean;
  /** Those without a problem; the others are undefined. */
  readonly values: Values;
  /** Problems by variable, in the order in which they were found. */
  readonly problems: ReadonlyMap<string, readonly string[]>;
  /** The origin a browser sees; undefined where it is wrong, or not known before the port is. */
  readonly publicOrigin: string | undefined;
}

/** Reads the configuration as `loadConfig` does, and goes on where that would stop. */
export function readSettings(env: Env): Settings {
  const reading = readConfig(env);
  const problems = byVariable(reading.problems);
  const usable = Object.entries(reading.values).filter(([name]) => !problems.has(name));
  const values: Values = Object.fromEntries(usable);
  const isDefault = values.PUBLIC_URL === undefined && !problems.has('PUBLIC_URL');
  const here = values.PORT ? new URL(`http://localhost:${values.PORT}`).origin : undefined;
  return {
    env,
    isProduction: env['NODE_ENV'] === 'production',
    values,
    problems,
    publicOrigin: isDefault ? here : values.PUBLIC_URL,
  };
}

function byVariable(problems: readonly string[]): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const each of problems) {
    const name = toVariable(each);
    found.set(name, [...(found.get(name) ?? []), each]);
  }
  return found;
}

/** Each problem starts with a name; what is wrong with `NAME_FILE` is wrong with `NAME`. */
function toVariable(problem: string): string {
  return (/^\w+/.exec(problem)?.[0] ?? '').replace(/_FILE$/, '');
}
