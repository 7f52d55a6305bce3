import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

interface Entry {
  readonly version?: string;
  readonly resolved?: string;
  readonly os?: readonly string[];
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
}

const lockfile = readFileSync(new URL('../../package-lock.json', import.meta.url), 'utf8');
const { packages } = JSON.parse(lockfile) as { packages: Record<string, Entry> };

// npm leaves out a package for another platform that its registry doesn't have; then `npm ci` refuses a fresh clone
// ("Missing: … from lock file"). Such an entry may be written by hand: version, cpu, os, libc, dev and optional.
test('package-lock.json has an entry for every package of another platform', () => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => !findsEntry(path, name)),
  );
  expect(missing).toEqual([]);
});

test('package-lock.json names the exact content of every package that is not for another platform alone', () => {
  const without = Object.entries(packages).filter(([path, entry]) => path !== '' && !entry.integrity);
  expect(without.filter(([, { optional, os }]) => optional !== true || os === undefined)).toEqual([]);
});

test('package-lock.json names no registry', () => {
  expect(lockfile).not.toMatch(/"resolved"/);
});

/** Whether Node would find package `name` from the package at `path`: in its own folder or in one above. */
function findsEntry(path: string, name: string): boolean {
  const folders = path.split('node_modules/');
  return folders.some((_, index) => {
    const folder = folders.slice(0, folders.length - index).join('node_modules/');
    return packages[`${folder === '' || folder.endsWith('/') ? folder : `${folder}/`}node_modules/${name}`];
  });
}
