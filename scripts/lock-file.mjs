import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from './launch.mjs';

/**
 * The entry of a package in package-lock.json.
 * @typedef {{
 *   name?: string, version?: string, integrity?: string, license?: string, resolved?: string, hasInstallScript?: boolean,
 *   dev?: boolean, devOptional?: boolean, optional?: boolean, os?: readonly string[],
 *   dependencies?: Readonly<Record<string, string>>, optionalDependencies?: Readonly<Record<string, string>>,
 *   devDependencies?: Readonly<Record<string, string>>, peerDependencies?: Readonly<Record<string, string>>,
 *   peerDependenciesMeta?: Readonly<Record<string, { optional?: boolean }>>,
 * }} Entry
 */

/**
 * Returns the packages in a lock file, keyed by path (`node_modules/…`). The path of the project itself is an empty string.
 * @param {string} [file] path relative to the project folder
 * @returns {Record<string, Entry>}
 */
export function readLock(file = 'package-lock.json') {
  const lock = /** @type {{ packages: Record<string, Entry> }} */ (
    JSON.parse(readFileSync(join(root, file), 'utf8'))
  );
  return lock.packages;
}

/**
 * Resolves package `name` from the package at `path`, as Node would: in the package's folder, or in the nearest folder above.
 * Returns undefined if the package is not installed.
 * @param {Readonly<Record<string, Entry>>} packages
 * @param {string} path
 * @param {string} name
 * @returns {string | undefined}
 */
export function resolvePackage(packages, path, name) {
  const folders = path.split('node_modules/');
  return folders
    .map((_, index) => folders.slice(0, folders.length - index).join('node_modules/'))
    .map((folder) => `${folder === '' || folder.endsWith('/') ? folder : `${folder}/`}node_modules/${name}`)
    .find((candidate) => packages[candidate] !== undefined);
}

/**
 * Returns the paths of a package's dependencies, including peers. Leaves out optional dependencies that are not installed.
 * @param {Readonly<Record<string, Entry>>} packages
 * @param {string} path
 * @returns {string[]}
 */
export function dependenciesOf(packages, path) {
  const { dependencies, optionalDependencies, peerDependencies, peerDependenciesMeta } = packages[path] ?? {};
  const peers = Object.keys(peerDependencies ?? {}).filter(
    (name) => peerDependenciesMeta?.[name]?.optional !== true,
  );
  const names = [...Object.keys({ ...dependencies, ...optionalDependencies }), ...peers];
  return [...new Set(names)].flatMap((name) => resolvePackage(packages, path, name) ?? []);
}

/**
 * Returns the paths of the packages that `npm ci --omit=dev` installs.
 * @param {Readonly<Record<string, Entry>>} packages
 * @returns {string[]}
 */
export function productionPaths(packages) {
  return Object.keys(packages).filter((path) => {
    const { dev, devOptional } = packages[path] ?? {};
    return path !== '' && dev !== true && devOptional !== true;
  });
}

/**
 * Returns the name of the package at a path.
 * @param {string} path
 */
export function nameOf(path) {
  return path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length);
}
