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

// npm omits a package for another platform if its registry lacks the package. `npm ci` then fails on a fresh clone ("Missing: …
// from lock file"). Write such an entry by hand: version, cpu, os, libc, dev and optional.
test.each(lockfiles)('$path has an entry for every platform-specific package', ({ packages }) => {
  const missing = Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies).filter((name) => resolvePackage(packages, path, name) === undefined),
  );
  expect(missing).toEqual([]);
});

test.each(lockfiles)(
  '$path has a hash for every package, except packages that are only for other platforms',
  ({ packages }) => {
    const without = Object.entries(packages).filter(([path, entry]) => path !== '' && !entry.integrity);
    expect(without.filter(([, { optional, os }]) => optional !== true || os === undefined)).toEqual([]);
  },
);

test.each(lockfiles)('$path names no registry', ({ text }) => {
  expect(text).not.toMatch(/"resolved"/);
});
