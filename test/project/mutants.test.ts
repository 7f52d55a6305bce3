import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from '@jest/globals';
import { applyMutant, readMutants } from '../../scripts/mutants.mjs';

const inProject = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

test('a mutant replaces exactly its search text', () => {
  const mutant = { search: 'a < b', replace: '$& a <= b' }; // replaceAll() would replace `$&`
  expect(applyMutant('if (a < b) b();', mutant)).toBe('if ($& a <= b) b();');
  expect(applyMutant('a, a', { search: 'a', times: 2, replace: 'b' })).toBe('b, b');
});

test.each([
  ['does not occur', 'a > b', 'b', 'occurs 0 times'],
  ['occurs twice', 'b', 'c', 'occurs 2 times'],
  ['equals its replacement', 'a < b', 'a < b', 'changes nothing'],
])('a mutant whose search text %s is refused', (_what, search, replace, message) => {
  expect(() => applyMutant('if (a < b) b();', { search, replace })).toThrow(message);
});

test('each mutant in the list matches the source, and its tests exist', () => {
  for (const mutant of readMutants()) {
    expect(() => applyMutant(readFileSync(inProject(mutant.file), 'utf8'), mutant)).not.toThrow();
    expect(mutant.tests.filter((path) => !existsSync(inProject(path)))).toEqual([]);
  }
});

test('no two mutants have the same name', () => {
  const names = readMutants().map(({ name }) => name);
  expect(names.toSorted()).toEqual([...new Set(names)].toSorted());
});
