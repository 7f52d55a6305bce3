import { statSync } from 'node:fs';
import { fileVariables } from '../../../config/schema.ts';
import type { Env } from '../../../config/env.ts';
import { ok, warning } from '../finding.ts';
import type { Verdict } from '../finding.ts';

/** Read or written by anybody, or written by the group. To read, a group is how a platform hands a file to a user. */
const TOO_OPEN = 0o027;

/** Who else may open the files that secrets come from. Their paths are not told: a secret may stand in their place. */
export function checkFileModes(env: Env): Verdict {
  const given = fileVariables.map((name) => `${name}_FILE`).filter((name) => env[name]);
  if (given.length === 0) return ok('No secret comes from a file.');
  const open = given.filter((name) => isTooOpen(env[name] ?? ''));
  if (open.length === 0) return ok(`${given.join(', ')}: for Cloakroom only.`);
  return warning(
    `${open.join(', ')}: others on this machine may read or write the file, or its group may write it.`,
    'Give it to the user Cloakroom runs as, and chmod 400 it. In a container that nobody else is in it does no harm.',
  );
}

function isTooOpen(path: string): boolean {
  try {
    return (statSync(path).mode & TOO_OPEN) !== 0;
  } catch {
    return false; // a problem of its variable
  }
}
