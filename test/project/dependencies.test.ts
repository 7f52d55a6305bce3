import { readFileSync } from 'node:fs';
import { describe, expect, test } from '@jest/globals';
import { dependenciesOf, nameOf, productionPaths, readLock } from '../../scripts/lock-file.mjs';

/** Licences that ask for no more than their text, so that they may run in production. */
const ALLOWED_LICENCES = new Set([
  'MIT',
  'ISC',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'Apache-2.0',
  '0BSD',
  'BlueOak-1.0.0',
]);

const packages = readLock();
const { dependencies = {}, devDependencies = {} } = packages[''] ?? {};

describe.each([
  ['In production', dependencies],
  ['For development', devDependencies],
])('docs/dependencies.md, %s', (heading, direct) => {
  const rows = rowsUnder(`## ${heading}`);

  test('names the packages of package.json, and no others', () => {
    expect(rows.map(({ name }) => name)).toEqual(Object.keys(direct).toSorted());
  });

  test('gives the licence of each, and how many packages it brings', () => {
    const inLock = rows.map(({ name }) => {
      const path = `node_modules/${name}`;
      return { name, licence: packages[path]?.license, brings: String(broughtBy(path)) };
    });
    expect(rows.map(({ name, licence, brings }) => ({ name, licence, brings }))).toEqual(inLock);
  });

  test('gives the reason for each, and what would replace it', () => {
    for (const row of rows) expect(row).toMatchObject({ why: /\w{3}/, otherwise: /\w{3}/ });
  });

  test('each is one exact version', () => {
    expect(Object.entries(direct).filter(([, version]) => !/^\d+\.\d+\.\d+$/.test(version))).toEqual([]);
  });
});

test('every package in production has an allowed licence', () => {
  const others = productionPaths(packages).filter(
    (path) => !ALLOWED_LICENCES.has(packages[path]?.license ?? ''),
  );
  expect(others).toEqual([]);
});

test('every package in production has an exact version and no install script', () => {
  const odd = productionPaths(packages).filter((path) => {
    const { hasInstallScript, version = '' } = packages[path] ?? {};
    return hasInstallScript === true || !/^\d+\.\d+\.\d+(?:-[\w.-]+)?$/.test(version);
  });
  expect(odd).toEqual([]);
});

test('no install script runs in development', () => {
  expect(readFileSync(new URL('../../.npmrc', import.meta.url), 'utf8')).toContain('ignore-scripts=true');
});

interface Row {
  readonly name: string;
  readonly why: string;
  readonly otherwise: string;
  readonly licence: string;
  readonly brings: string;
}

/** The rows of the table under a heading. */
function rowsUnder(heading: string): Row[] {
  const text = readFileSync(new URL('../../docs/dependencies.md', import.meta.url), 'utf8');
  const section = text.split(`\n${heading}\n`)[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\| `([^`]+)` *\|([^|]+)\|([^|]+)\|([^|]+)\| *(\d+) *\|$/gm)].map(
    ([, name = '', why = '', otherwise = '', licence = '', brings = '']) => ({
      name,
      why: why.trim(),
      otherwise: otherwise.trim(),
      licence: licence.trim(),
      brings,
    }),
  );
}

/** How many packages come with one, on every platform together, by name. */
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
