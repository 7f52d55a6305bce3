import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';

const here = new URL('./', import.meta.url);

const ID = String.raw`(?:CVE-\d+-\d+|GHSA-[\w-]+|[\w-]+#\d+)`;

/** Returns `file: id project: description` for each test that is named after a vulnerability. */
function tested(): string[] {
  const files = readdirSync(here).filter((name) => name.endsWith('.test.ts'));
  return files.flatMap((file) => {
    const source = readFileSync(new URL(file, here), 'utf8');
    const names = source.matchAll(new RegExp(String.raw`'(${ID} [^'\n]+: [^'\n]+)'`, 'g'));
    return [...names].map(([, name]) => `${file}: ${name}`);
  });
}

/** Returns `file: id project: description` for each entry in docs/peer-vulnerabilities.md, whose sections name the test files. */
function listed(): string[] {
  const text = readFileSync(new URL('../../docs/peer-vulnerabilities.md', here), 'utf8');
  return text.split('\n## ').flatMap((section) => {
    const [, file] = /^`test\/security\/(.+\.test\.ts)`$/m.exec(section) ?? [];
    const entries = section.matchAll(new RegExp(`^- (${ID} .+: .+)$`, 'gm'));
    return [...entries].map(([, entry = '']) => `${file}: ${entry.replaceAll('\\', '')}`);
  });
}

test('docs/peer-vulnerabilities.md lists exactly the vulnerabilities that have a test, with the same wording', () => {
  expect(listed().toSorted()).toEqual(tested().toSorted());
});

test('each vulnerability has exactly one test', () => {
  const ids = tested().map((name) => name.split(' ')[1]);
  expect(ids).toHaveLength(new Set(ids).size);
  expect(ids.length).toBeGreaterThan(40);
});
