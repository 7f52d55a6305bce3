import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePackages } from './ensure-packages.mjs';
import { LaunchError, root } from './launch.mjs';

/** Each major version has its own lock file there, so that only the requested one is installed. */
const NODES = join(root, 'test', 'nodes');

/**
 * Installs a Node of this major version, whichever one runs the launcher. Resolves with the folder that holds it as `node`; throws a
 * LaunchError where npm has none for this machine.
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

/** The newest supported major version, or the oldest where this is the newest. */
export function otherMajor() {
  return process.versions.node.startsWith('24.') ? '20' : '24';
}
