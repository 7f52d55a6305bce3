import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { LaunchError, root, run, toStderr } from './launch.mjs';
import { oneAtATime } from './one-at-a-time.mjs';

/**
 * @typedef {{ version?: string, integrity?: string, dev?: boolean, optional?: boolean, devOptional?: boolean }} Entry
 */

/**
 * Installs all packages, including development packages, if they differ from package-lock.json. `folder` contains the lock file.
 * @param {string} [folder]
 */
export async function ensurePackages(folder = root) {
  if (packagesAreCurrent({ folder })) return;
  await oneAtATime(async () => {
    if (packagesAreCurrent({ folder })) return;
    console.error('Installing packages …');
    // Set the log level, because `npm run -s` would also silence this npm process.
    const env = { ...process.env, npm_config_loglevel: 'notice' };
    const args = ['ci', '--prefix', folder, '--include=dev', '--ignore-scripts', '--no-audit', '--no-fund'];
    const code = await run('npm', args, { stdio: toStderr, env });
    if (code !== 0) throw new LaunchError(`npm ci failed (${code}). The packages are not installed.`);
  });
}

/**
 * Returns whether the installed packages match package-lock.json. The function compares contents, because a checkout or copy
 * changes modification times. With `production`, compares only the packages that the app needs.
 * @param {{ production?: boolean, folder?: string }} [options]
 */
export function packagesAreCurrent({ production = false, folder = root } = {}) {
  const installed = readEntries(join(folder, 'node_modules', '.package-lock.json'));
  const wanted = readEntries(join(folder, 'package-lock.json'));
  return (
    Object.entries(wanted).every(([path, entry]) => {
      const here = installed[path];
      // npm does not install optional packages for other platforms.
      if (here === undefined) {
        return path === '' || entry.optional || entry.devOptional || (production && entry.dev);
      }
      return here.version === entry.version && here.integrity === entry.integrity;
    }) && Object.keys(installed).length > 0
  );
}

/**
 * @param {string} path the path of a lock file
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
