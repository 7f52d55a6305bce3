import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { dependenciesOf, nameOf, productionPaths, readLock } from '../../scripts/lock-file.mjs';

/** Licences that require only a copy of their text. */
const ALLOWED_LICENCES = /^(?:MIT|ISC|BSD-[23]-Clause|Apache-2\.0|0BSD|BlueOak-1\.0\.0)$/;

const packages = readLock();
const { dependencies = {}, devDependencies = {} } = packages[''] ?? {};

describe.each([
  ['In production', dependencies],
  ['For development', devDependencies],
])('docs/dependencies.md, %s', (heading, direct) => {
  const rows = rowsUnder(`## ${heading}`);

  test('lists exactly the packages in package.json', () => {
    expect(rows.map(({ name }) => name)).toEqual(Object.keys(direct).toSorted());
  });

  test('states the licence of each package and the number of packages that it brings in', () => {
    const inLock = rows.map(({ name }) => {
      const path = `node_modules/${name}`;
      return { name, licence: packages[path]?.license, brings: String(broughtBy(path)) };
    });
    expect(rows.map(({ name, licence, brings }) => ({ name, licence, brings }))).toEqual(inLock);
  });

  test('states the reason for each package and an alternative', () => {
    for (const row of rows) expect(row).toMatchObject({ why: /\w{3}/, otherwise: /\w{3}/ });
  });

  test('covers only packages with an exact version in package.json', () => {
    expect(Object.entries(direct).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });
});

test('every production package has an allowed licence', () => {
  const isAllowed = (path: string) => ALLOWED_LICENCES.test(packages[path]?.license ?? '');
  expect(productionPaths(packages).filter((path) => !isAllowed(path))).toEqual([]);
});

test('every production package has an exact version and no install script', () => {
  const odd = productionPaths(packages).filter((path) => {
    const { hasInstallScript, version = '' } = packages[path] ?? {};
    return hasInstallScript === true || !/^\d+\.\d+\.\d+(?:-[\w.-]+)?$/.test(version);
  });
  expect(odd).toEqual([]);
});

test('install scripts do not run in development', () => {
  expect(readFileSync(new URL('../../.npmrc', import.meta.url), 'utf8')).toContain('ignore-scripts=true');
});

/** Returns the rows of the table under a heading. */
function rowsUnder(heading: string) {
  const text = readFileSync(new URL('../../docs/dependencies.md', import.meta.url), 'utf8');
  const section = text.split(`\n${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\| `([^`]+)` *\|([^|]+)\|([^|]+)\|([^|]+)\| *(\d+) *\|$/gm)].map((row) => {
    const [name = '', why, otherwise, licence, brings] = row.slice(1).map((cell) => cell.trim());
    return { name, why, otherwise, licence, brings };
  });
}

/** Returns the number of packages, counted by name, that a package brings in across all platforms. */
function broughtBy(path: string): number {
  const seen = new Set<string>();
  const visit = (at: string) => {
    if (seen.has(at)) return;
    seen.add(at);
    for (const need of dependenciesOf(packages, at)) visit(need);
  };
  visit(path);
  return new Set([...seen].map(nameOf)).size - 1;
}
