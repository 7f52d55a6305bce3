import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ensurePackages } from './ensure-packages.mjs';
import { LaunchError, root } from './launch.mjs';

/** Each major version has its own lock file in this folder, so that only the requested version is installed. */
const NODES = join(root, 'test', 'nodes');

/**
 * Installs this major version of Node. Resolves to the folder that contains its `node` program. Throws a LaunchError if npm has
 * no build for this machine.
 * @param {string} [major] e.g. `24`
 */
export async function ensureNode(major = '') {
  const majors = readdirSync(NODES);
  if (!majors.includes(major)) throw new LaunchError(`Name a major version of Node: ${majors.join(', ')}.`);
  const folder = join(NODES, major);
  await ensurePackages(folder);
  const programs = join(folder, 'node_modules', '.bin');
  if (!existsSync(join(programs, 'node'))) {
    const machine = `${process.platform} on ${process.arch}`;
    throw new LaunchError(
      `npm has no Node ${major} for ${machine}. Put another build of Node first on the PATH and run npm test.`,
    );
  }
  return programs;
}

/** Returns the newest supported major version, or the oldest if this process runs on the newest. */
export function otherMajor() {
  return process.versions.node.startsWith('24.') ? '20' : '24';
}
