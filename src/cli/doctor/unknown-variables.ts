import type { Env } from '../../config/env.ts';
import { variableNames } from '../../config/load.ts';
import { fileVariables } from '../../config/schema.ts';
import { ok, warning, type Result } from './finding.ts';

const KNOWN = [...variableNames, ...fileVariables.map((name) => `${name}_FILE`)];
/** Shorter names, such as HOST and PORT, resemble too many others. */
const MIN_LENGTH = 6;

/** Finds variables that Cloakroom doesn't read but whose names resemble those of Cloakroom variables. Never prints values. */
export function checkUnknownVariables(env: Env): Result {
  const set = Object.keys(env).filter((name) => env[name] && /^\w+$/.test(name));
  const hints = set.flatMap((name) => hintFor(name, env) ?? []);
  if (hints.length === 0) return ok('No unknown variable resembles a Cloakroom variable.');
  return warning(`Cloakroom does not read ${hints.join(', or ')}.`, 'Correct or remove the variable.');
}

function hintFor(name: string, env: Env): string | undefined {
  if (KNOWN.includes(name) || name.startsWith('LOCAL_SERVICE_')) return undefined;
  const variable = name.replace(/_FILE$/, '');
  if (variable !== name && variableNames.includes(variable))
    return `${name} (${variable} is not read from a file)`;
  const bare = name.replace(/^CLOAKROOM_/, '');
  const meant = bare !== name && KNOWN.includes(bare) ? bare : KNOWN.find((known) => isMisspelt(bare, known));
  // Some platforms set the same value under two names.
  return meant === undefined || env[meant] === env[name] ? undefined : `${name} (did you mean ${meant}?)`;
}

/** Returns whether names match apart from case, underscores and one typo (an extra, missing or wrong letter, or two swapped letters). */
function isMisspelt(name: string, known: string): boolean {
  const [one, other] = [normalise(name), normalise(known)];
  if (other.length < MIN_LENGTH) return false;
  let start = 0;
  while (start < one.length && one[start] === other[start]) start += 1;
  const [a, b] = [one.slice(start), other.slice(start)];
  const isSwapped = a[0] === b[1] && a[1] === b[0] && a.slice(2) === b.slice(2);
  return isSwapped || a.slice(1) === b || a === b.slice(1) || a.slice(1) === b.slice(1);
}

function normalise(name: string): string {
  return name.toUpperCase().replaceAll('_', '');
}
