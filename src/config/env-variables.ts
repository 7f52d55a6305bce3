import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import type { z } from 'zod';
import { StartupError } from '../errors.ts';

/** The environment, or what stands for it. */
export type Env = Readonly<Record<string, string | undefined>>;

/** A configuration that can't be used. No problem repeats a value: it may be a secret, even in the wrong place. */
export class ConfigError extends StartupError {
  override readonly name = 'ConfigError';
  /** One for each thing that is wrong; each starts with the name of the variable. */
  readonly problems: readonly string[];

  /** `hint` goes last, in the words on standard error alone. */
  constructor(problems: readonly string[], hint?: string) {
    super([...problems, ...(hint === undefined ? [] : [hint])].join('\n'));
    this.problems = problems;
  }
}

/** Whether a problem is that a variable is not set at all. */
export function isMissing(problem: string): boolean {
  return / is required(?: in production)?$/.test(problem);
}

type Schemas = Readonly<Record<string, z.ZodType<unknown, string | undefined>>>;

type Values<S extends Schemas> = { readonly [Name in keyof S]: z.output<S[Name]> };

/** What the variables hold, by name; one with a problem is undefined. */
export interface EnvReading<S extends Schemas> {
  readonly values: Partial<Values<S>>;
  readonly problems: readonly string[];
}

/**
 * Reads each variable by its own schema, so that a problem of one never hides those of another. An empty variable
 * counts as unset. A name in `files` may also be given as `NAME_FILE`: the path of a regular file with the value, of 64 KiB
 * at most. It never waits for what is at that path.
 */
export function readVariables<S extends Schemas>(
  schemas: S,
  env: Env,
  files: readonly (keyof S)[] = [],
): EnvReading<S> {
  const readings = Object.entries(schemas).map(([name, schema]) => {
    const { text, label, problem } = files.includes(name) ? valueOrFile(name, env) : plainValue(name, env);
    if (problem !== undefined) return { name, value: undefined, problems: [problem] };
    const parsed = schema.safeParse(text);
    if (parsed.success) return { name, value: parsed.data, problems: [] };
    const messages = text === undefined ? ['is required'] : parsed.error.issues.map((issue) => issue.message);
    return { name, value: undefined, problems: messages.map((message) => `${label} ${message}`) };
  });
  return {
    values: Object.fromEntries(readings.map(({ name, value }) => [name, value])) as Partial<Values<S>>,
    problems: readings.flatMap((reading) => reading.problems),
  };
}

interface Source {
  readonly text: string | undefined;
  /** How a problem names the variable. */
  readonly label: string;
  readonly problem?: string;
}

function plainValue(name: string, env: Env): Source {
  return { text: env[name] || undefined, label: name };
}

function valueOrFile(name: string, env: Env): Source {
  const plain = plainValue(name, env);
  const fileVariable = `${name}_FILE`;
  const path = env[fileVariable] || undefined;
  if (path === undefined) return plain;
  const label = `${name} (from ${fileVariable})`;
  if (plain.text !== undefined) {
    return { ...plain, problem: `${name} and ${fileVariable} are both set: set only one` };
  }
  try {
    const text = readSmallFile(path).trim();
    return text === ''
      ? { text, label, problem: `${fileVariable} names a file that is empty` }
      : { text, label };
  } catch (error) {
    const why =
      error instanceof UnfitFileError
        ? error.message
        : ((error as NodeJS.ErrnoException).code ?? 'unknown error');
    return { text: undefined, label, problem: `${fileVariable} names a file that can't be read (${why})` };
  }
}

/** Nobody wrote a secret into it. */
class UnfitFileError extends Error {
  override readonly name = 'UnfitFileError';
}

const MOST_BYTES = 65_536;

/**
 * The process serves while it reads: a pipe would hold all of it up until somebody writes, and not even be opened; a device
 * may have no end. Links are followed. What was opened is what is judged, whatever stands at the path by then.
 */
function readSmallFile(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const stats = fstatSync(file);
    if (!stats.isFile()) throw new UnfitFileError('it is no regular file');
    if (stats.size > MOST_BYTES) throw new UnfitFileError('it is larger than 64 KiB');
    return readFileSync(file, 'utf8');
  } finally {
    closeSync(file);
  }
}
