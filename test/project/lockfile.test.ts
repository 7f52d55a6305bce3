import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { readLock, resolvePackage } from '../../scripts/lock-file.mjs';

const NODES = ['20', '22', '24'].map((major) => `test/nodes/${major}/package-lock.json`);

const lockfiles = [
  'package-lock.json',
  'bench/package-lock.json',
  'audit/package-lock.json',
  'test/project/deploy/kubectl/package-lock.json',
  ...NODES,
].map((path) => ({
  path,
  text: readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8'),
  packages: readLock(path),
}));

// If the registry lacks a package for another platform, npm omits the package from the lock file. `npm ci` then fails on a fresh
// clone ("Missing: … from lock file"). Write the missing entry by hand, with version, cpu, os, libc, dev and optional.
test.each(lockfiles)('$path has an entry for every platform-specific package', ({ packages }) => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => resolvePackage(packages, path, name) === undefined),
  );
  expect(missing).toEqual([]);
});

test.each(lockfiles)(
  '$path has a hash for every package, except optional packages for specific platforms',
  ({ packages }) => {
    const without = Object.entries(packages).filter(([path, entry]) => path !== '' && !entry.integrity);
    expect(without.filter(([, { optional, os }]) => optional !== true || os === undefined)).toEqual([]);
  },
);

test.each(lockfiles)('$path does not name a registry', ({ text }) => {
  expect(text).not.toMatch(/"resolved"/);
});
