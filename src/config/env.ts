import { closeSync, constants, existsSync, fstatSync, openSync, readFileSync } from 'node:fs';
import type * as z from 'zod';
import { StartupError } from '../errors.ts';

export type Env = Readonly<Record<string, string | undefined>>;

/** The configuration is invalid. Problems never contain values, because a secret may have been set in the wrong variable. */
export class ConfigError extends StartupError {
  override readonly name = 'ConfigError';
  /** Each problem starts with the name of a variable. */
  readonly problems: readonly string[];

  /** `hint` is the last line of the message. */
  constructor(problems: readonly string[], hint?: string) {
    super([...problems, ...(hint === undefined ? [] : [hint])].join('\n'));
    this.problems = problems;
  }
}

/**
 * Loads `.env` from the current folder into the environment, except in production. Returns whether a `.env` was ignored. Throws a
 * StartupError if the file can't be read.
 */
export function readDotEnv(self: Pick<NodeJS.Process, 'env' | 'loadEnvFile'>): {
  readonly isIgnored: boolean;
} {
  if (!existsSync('.env')) return { isIgnored: false };
  if (self.env['NODE_ENV'] === 'production') return { isIgnored: true };
  try {
    self.loadEnvFile('.env');
  } catch (error) {
    throw new StartupError(`.env can't be read (${codeOf(error)})`);
  }
  return { isIgnored: false };
}

type Schemas = Readonly<Record<string, z.ZodType<unknown, string | undefined>>>;

/** Valid values, keyed by variable name, and problems with the other variables. */
export interface EnvReading<S extends Schemas> {
  readonly values: { readonly [Name in keyof S]?: z.output<S[Name]> };
  /** Each problem starts with the name of a variable. */
  readonly problems: readonly string[];
  /** The required variables that are not set. `problems` has an entry for each of these variables. */
  readonly missing: ReadonlySet<string>;
}

/**
 * Parses each variable with its own schema, so that all problems are reported together. An empty variable is treated as unset. A variable
 * in `files` may instead be set as `NAME_FILE`, the path of a regular file of at most 64 KiB.
 */
export function readVariables<S extends Schemas>(
  schemas: S,
  env: Env,
  files: readonly (keyof S)[] = [],
): EnvReading<S> {
  const values: Record<string, unknown> = {};
  const problems: string[] = [];
  const missing = new Set<string>();
  for (const [name, schema] of Object.entries(schemas)) {
    const { text, label, problem } = files.includes(name) ? valueOrFile(name, env) : plainValue(name, env);
    if (problem !== undefined) {
      problems.push(problem);
      continue;
    }
    const parsed = schema.safeParse(text);
    if (parsed.success) values[name] = parsed.data;
    else if (text === undefined) {
      missing.add(name);
      problems.push(`${name} is required`);
    } else problems.push(...parsed.error.issues.map(({ message }) => `${label} ${message}`));
  }
  return { values: values as EnvReading<S>['values'], problems, missing };
}

interface Source {
  readonly text: string | undefined;
  /** The name by which problems refer to the variable. */
  readonly label: string;
  readonly problem?: string;
}

function plainValue(name: string, env: Env): Source {
  return { text: env[name] || undefined, label: name };
}

function valueOrFile(name: string, env: Env): Source {
  const plain = plainValue(name, env);
  const fileVariable = `${name}_FILE`;
  const path = env[fileVariable];
  if (!path) return plain;
  if (plain.text !== undefined)
    return { ...plain, problem: `${name} and ${fileVariable} are both set: set only one` };
  const label = `${name} (from ${fileVariable})`;
  try {
    const text = readSmallFile(path).trim();
    return text === '' ? { text, label, problem: `${fileVariable} names an empty file` } : { text, label };
  } catch (error) {
    const why = error instanceof UnfitFileError ? error.message : codeOf(error);
    return { text: undefined, label, problem: `${fileVariable} names a file that can't be read (${why})` };
  }
}

class UnfitFileError extends Error {
  override readonly name = 'UnfitFileError';
}

const MAX_FILE_BYTES = 65_536;

/**
 * Reads a regular file without blocking, because the process may be serving requests. Opening a pipe would block without O_NONBLOCK, and
 * reading a device might never end. The checks use the open file, so replacing the file can't bypass them.
 */
function readSmallFile(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new UnfitFileError('it is not a regular file');
    if (stats.size > MAX_FILE_BYTES) throw new UnfitFileError('it is larger than 64 KiB');
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? 'unknown error';
}
