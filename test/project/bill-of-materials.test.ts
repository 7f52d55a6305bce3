import { spawnSync } from 'node:child_process';
import { expect, test } from '@jest/globals';
import { toBillOfMaterials } from '../../scripts/bill-of-materials.mjs';
import { nameOf, productionPaths, readLock } from '../../scripts/lock-file.mjs';

const packages = readLock();
const bill = toBillOfMaterials(packages);
const listed = bill.components.map(({ name, version }) => `${name}@${version}`);

test('the bill of materials lists each production package once and no other packages', () => {
  const production = productionPaths(packages).map((path) => `${nameOf(path)}@${packages[path]?.version}`);
  expect(listed.toSorted()).toEqual([...new Set(production)].toSorted());
  // Unlike this script, npm sbom omits production packages that are also needed for development.
  expect(listed).toEqual(
    expect.arrayContaining([expect.stringMatching(/^zod@/), expect.stringMatching(/^qs@/)]),
  );
});

test('each package in the bill of materials has a hash and a licence', () => {
  for (const component of bill.components) {
    expect(component).toMatchObject({
      hashes: [{ alg: 'SHA-512', content: expect.stringMatching(/^[\da-f]{128}$/) }],
      licenses: [expect.anything()],
    });
  }
});

test('the bill of materials lists the dependencies of each package and contains every dependency', () => {
  const known = new Set([bill.metadata.component, ...bill.components].map((one) => one['bom-ref']));
  expect(new Set(bill.dependencies.map(({ ref }) => ref))).toEqual(known);
  const needed = bill.dependencies.flatMap(({ dependsOn }) => dependsOn);
  expect(needed.filter((ref) => !known.has(ref))).toEqual([]);
  const express = bill.dependencies.find(({ ref }) => ref.startsWith('pkg:npm/express@'));
  expect(express?.dependsOn).toContainEqual(expect.stringMatching(/^pkg:npm\/router@/));
});

test('a package with two installed versions is listed twice', () => {
  const two = {
    '': { name: 'project', version: '1.0.0', dependencies: { a: '1.0.0', b: '1.0.0' } },
    'node_modules/a': { version: '1.0.0', dependencies: { b: '2.0.0' } },
    'node_modules/a/node_modules/b': { version: '2.0.0', license: 'MIT OR ISC' },
    'node_modules/b': { version: '1.0.0' },
    'node_modules/@scope/c': { version: '1.0.0', dev: true },
  };
  const { components, dependencies } = toBillOfMaterials(two);
  expect(components.map(({ purl }) => purl)).toEqual([
    'pkg:npm/a@1.0.0',
    'pkg:npm/b@2.0.0',
    'pkg:npm/b@1.0.0',
  ]);
  expect(components[1]).toMatchObject({ licenses: [{ expression: 'MIT OR ISC' }] });
  expect(dependencies.slice(0, 2)).toEqual([
    { ref: 'pkg:npm/project@1.0.0', dependsOn: ['pkg:npm/a@1.0.0', 'pkg:npm/b@1.0.0'] },
    { ref: 'pkg:npm/a@1.0.0', dependsOn: ['pkg:npm/b@2.0.0'] },
  ]);
});

test('npm run sbom prints the same bill of materials each time', () => {
  const print = () => spawnSync(process.execPath, ['scripts/sbom.mjs'], { encoding: 'utf8' });
  const [first, second] = [print(), print()];
  expect(first).toMatchObject({ status: 0, stderr: '' });
  expect(JSON.parse(first.stdout)).toEqual(bill);
  expect(second.stdout).toBe(first.stdout);
});
