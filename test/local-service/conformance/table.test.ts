import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { DOCUMENT, ROWS, findTests, readFiles, withTable } from './table.mjs';

test('every row of the interface has exactly one test, and every test is of a row', () => {
  const tested = findTests().map((found) => found.row);
  expect(tested.toSorted()).toEqual(ROWS.toSorted());
});

test('every test has the name of a row as its title', () => {
  for (const { file, source } of readFiles()) {
    const tests = source.match(/^[ \t]*(?:test|it)[.(]/gm)?.length;
    expect({ file, tests }).toEqual({ file, tests: source.match(/^test\('\d|\('%s', /gm)?.length });
  }
});

test('the table in docs/local-service.md is as `npm run conformance-table` writes it', () => {
  const document = readFileSync(DOCUMENT, 'utf8');
  expect(document).toBe(withTable(document));
});
