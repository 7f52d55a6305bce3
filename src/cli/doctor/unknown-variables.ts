import type { Env } from '../../config/env.ts';
import { variableNames } from '../../config/load.ts';
import { fileVariables } from '../../config/schema.ts';
import { ok, warning, type Result } from './finding.ts';

const KNOWN = [...variableNames, ...fileVariables.map((name) => `${name}_FILE`)];
/** Shorter names, such as HOST and PORT, resemble too many others. */
const MIN_LENGTH = 6;
/** A name of this length may hold two typing errors. */
const LONG = 12;

/** Finds variables that Cloakroom does not read and whose names resemble one that it does. Never prints a value. */
export function checkUnknownVariables(env: Env): Result {
  const set = Object.keys(env).filter((name) => env[name] && /^\w+$/.test(name));
  const hints = set.flatMap((name) => hintFor(name, env) ?? []);
  if (hints.length === 0) return ok('No name resembles one of Cloakroom’s.');
  return warning(`Cloakroom does not read ${hints.join(', or ')}.`, 'Correct the name, or remove it.');
}

function hintFor(name: string, env: Env): string | undefined {
  if (KNOWN.includes(name) || name.startsWith('LOCAL_SERVICE_')) return undefined;
  const variable = name.replace(/_FILE$/, '');
  if (variable !== name && variableNames.includes(variable))
    return `${name} (${variable} is not read from a file)`;
  const bare = name.replace(/^CLOAKROOM_/, '');
  const meant = bare !== name && KNOWN.includes(bare) ? bare : resembling(bare);
  // Platforms set the same value under two names.
  return meant === undefined || env[meant] === env[name] ? undefined : `${name} (did you mean ${meant}?)`;
}

function resembling(name: string): string | undefined {
  const normalise = (each: string) => each.toUpperCase().replaceAll('_', '');
  return KNOWN.find((known) => {
    const { length } = normalise(known);
    return length >= MIN_LENGTH && distance(normalise(name), normalise(known)) <= (length >= LONG ? 2 : 1);
  });
}

/** Optimal string alignment distance: insertions, deletions, substitutions and swaps of neighbours. */
function distance(from: string, to: string): number {
  const rows = [Array.from({ length: to.length + 1 }, (_, at) => at)];
  for (let i = 1; i <= from.length; i += 1) {
    const [above = [], before = []] = [rows[i - 1], rows[i - 2]];
    const row = [i];
    for (let j = 1; j <= to.length; j += 1) {
      const isSame = from[i - 1] === to[j - 1];
      const isSwapped = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      row[j] = Math.min(
        (above[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (above[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwapped ? (before[j - 2] ?? 0) + 1 : Infinity,
      );
    }
    rows.push(row);
  }
  return rows[from.length]?.[to.length] ?? 0;
}
