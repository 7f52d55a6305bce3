import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LaunchError, root, run, toStderr } from './launch.mjs';
import { oneAtATime } from './one-at-a-time.mjs';

/**
 * @typedef {{ version?: string, integrity?: string, dev?: boolean, optional?: boolean, devOptional?: boolean }} Entry
 */

/**
 * Installs the packages where they are missing or are not those of package-lock.json, those for development too.
 * `folder` is the one that the lock file is in.
 * @param {string} [folder]
 */
export async function ensurePackages(folder = root) {
  if (packagesAreCurrent({ folder })) return;
  await oneAtATime(async () => {
    if (packagesAreCurrent({ folder })) return;
    console.error('Installing packages …');
    // `npm run -s` would silence this npm as well.
    const env = { ...process.env, npm_config_loglevel: 'notice' };
    const args = ['ci', '--prefix', folder, '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund'];
    const code = await run('npm', args, { stdio: toStderr, env });
    if (code !== 0) throw new LaunchError(`The packages could not be installed: npm ci failed (${code}).`);
  });
}

/**
 * Whether what npm says it installed is what package-lock.json asks for. Compared by content: times of change say
 * nothing after a checkout or a copy. `production` looks at what runs the app only.
 * @param {{ production?: boolean, folder?: string }} [options]
 */
export function packagesAreCurrent({ production = false, folder = root } = {}) {
  const installed = readEntries(join(folder, 'node_modules', '.package-lock.json'));
  const wanted = readEntries(join(folder, 'package-lock.json'));
  return (
    Object.entries(wanted).every(([path, entry]) => {
      const here = installed[path];
      // Packages for other platforms are optional, and so are not here.
      if (here === undefined) {
        return path === '' || entry.optional || entry.devOptional || (production && entry.dev);
      }
      return here.version === entry.version && here.integrity === entry.integrity;
    }) && Object.keys(installed).length > 0
  );
}

/**
 * @param {string} path of a lock file
 * @returns {Record<string, Entry>}
 */
function readEntries(path) {
  try {
    const lock = /** @type {{ packages: Record<string, Entry> }} */ (JSON.parse(readFileSync(path, 'utf8')));
    return lock.packages;
  } catch {
    return {};
  }
}
