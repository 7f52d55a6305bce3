import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const here = new URL('./', import.meta.url);

/** `file: id project: what happened`, of each test that is named after a flaw. */
function tested(): string[] {
  const files = readdirSync(here).filter((name) => name.endsWith('.test.ts'));
  return files.flatMap((file) => {
    const source = readFileSync(new URL(file, here), 'utf8');
    const names = source.matchAll(/'((?:CVE-\d+-\d+|GHSA-[\w-]+|[\w-]+#\d+) [^'\n]+: [^'\n]+)'/g);
    return [...names].map(([, name]) => `${file}: ${name}`);
  });
}

/** The same, of each row of the table. */
function listed(): string[] {
  const text = readFileSync(new URL('../../docs/flaws.md', here), 'utf8');
  const rows = text.matchAll(
    /^\| ((?:CVE|GHSA)-[\w-]+|[\w-]+#\d+) +\| (.+) \| .+ \| `(.+\.test\.ts)` +\|$/gm,
  );
  return [...rows].map(([, id, flaw = '', file]) => `${file}: ${id} ${flaw.trim().replaceAll('\\', '')}`);
}

test('docs/flaws.md lists each flaw that has a test, in its own words, and no other', () => {
  expect(listed().toSorted()).toEqual(tested().toSorted());
});

test('no flaw is tested twice', () => {
  const ids = tested().map((name) => name.split(' ')[1]);
  expect(ids).toHaveLength(new Set(ids).size);
  expect(ids.length).toBeGreaterThan(40);
});
