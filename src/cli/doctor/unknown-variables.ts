import { variableNames } from '../../config/load.ts';
import { fileVariables } from '../../config/schema.ts';
import type { Env } from '../../config/env.ts';
import { ok, warning } from './finding.ts';
import type { Verdict } from './finding.ts';

const FILE_NAMES = fileVariables.map((name) => `${name}_FILE`);
const KNOWN = [...variableNames, ...FILE_NAMES];
/** HOST and PORT have too many neighbours. */
const SHORTEST = 6;
/** From this length on two slips may be one name. */
const LONG = 12;

/** Names in the environment that were probably meant for us. Says nothing of their values. */
export function checkUnknownVariables(env: Env): Verdict {
  const set = Object.keys(env).filter((name) => env[name] && /^\w+$/.test(name));
  const hints = set.flatMap((name) => hintFor(name, env) ?? []);
  if (hints.length === 0) return ok('None looks like one of ours.');
  return warning(`Nobody reads ${hints.join(', or ')}.`, 'Rename or remove what was meant for Cloakroom.');
}

function hintFor(name: string, env: Env): string | undefined {
  if (KNOWN.includes(name) || name.startsWith('LOCAL_SERVICE_')) return undefined;
  const plain = name.replace(/_FILE$/, '');
  if (plain !== name && variableNames.includes(plain)) return `${name} (${plain} is not read from a file)`;
  const meant = name.startsWith('CLOAKROOM_') ? meantWithPrefix(name) : meantBy(name);
  // The same under two names, as platforms have it, is no slip.
  return meant === undefined || env[meant] === env[name] ? undefined : `${name} (was ${meant} meant?)`;
}

function meantWithPrefix(name: string): string | undefined {
  const rest = name.slice('CLOAKROOM_'.length);
  return KNOWN.includes(rest) ? rest : meantBy(rest);
}

function meantBy(name: string): string | undefined {
  const bare = toBare(name);
  return KNOWN.find((known) => {
    const { length } = toBare(known);
    return length >= SHORTEST && slips(bare, toBare(known)) <= (length >= LONG ? 2 : 1);
  });
}

function toBare(name: string): string {
  return name.toUpperCase().replaceAll('_', '');
}

/** Letters to put in, take out, change or swap with their neighbour (optimal string alignment distance). */
function slips(from: string, to: string): number {
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
