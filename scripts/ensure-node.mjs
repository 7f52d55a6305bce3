import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePackages } from './ensure-packages.mjs';
import { LaunchError, root } from './launch.mjs';

/** Each major version has a manifest and a lock file of its own there: only the one that is asked for is installed. */
const NODES = join(root, 'test', 'nodes');

/**
 * Sees to it that a Node of this major version is here, whatever the one that runs us. Resolves with the folder that has
 * it as `node`; rejects with a LaunchError where there is none for this machine.
 * @param {string} [major] e.g. `24`
 */
export async function ensureNode(major = '') {
  const majors = readdirSync(NODES);
  if (!majors.includes(major)) throw new LaunchError(`Which Node? There are ${majors.join(', ')}.`);
  const folder = join(NODES, major);
  await ensurePackages(folder);
  const programs = join(folder, 'node_modules', '.bin');
  if (!existsSync(join(programs, 'node'))) {
    const machine = `${process.platform} on ${process.arch}`;
    throw new LaunchError(
      `npm brought no Node ${major} for ${machine}: put your own first on the PATH, then npm test runs on it.`,
    );
  }
  return programs;
}

/** The other end of what we run on: the newest major version, or where this is it the oldest. */
export function otherMajor() {
  return process.versions.node.startsWith('24.') ? '20' : '24';
}
