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

const lockfiles = ['package-lock.json', 'bench/package-lock.json'].map((path) => {
  const text = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  return { path, text, packages: (JSON.parse(text) as { packages: Record<string, Entry> }).packages };
});

// npm leaves out a package for another platform that its registry doesn't have; then `npm ci` refuses a fresh clone
// ("Missing: … from lock file"). Such an entry may be written by hand: version, cpu, os, libc, dev and optional.
test.each(lockfiles)('$path has an entry for every package of another platform', ({ packages }) => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => !findsEntry(packages, path, name)),
  );
  expect(missing).toEqual([]);
});

test.each(lockfiles)(
  '$path names the exact content of every package that is not for another platform alone',
  ({ packages }) => {
    const without = Object.entries(packages).filter(([path, entry]) => path !== '' && !entry.integrity);
    expect(without.filter(([, { optional, os }]) => optional !== true || os === undefined)).toEqual([]);
  },
);

test.each(lockfiles)('$path names no registry', ({ text }) => {
  expect(text).not.toMatch(/"resolved"/);
});

/** Whether Node would find package `name` from the package at `path`: in its own folder or in one above. */
function findsEntry(packages: Record<string, Entry>, path: string, name: string): boolean {
  const folders = path.split('node_modules/');
  return folders.some((_, index) => {
    const folder = folders.slice(0, folders.length - index).join('node_modules/');
    return packages[`${folder === '' || folder.endsWith('/') ? folder : `${folder}/`}node_modules/${name}`];
  });
}
