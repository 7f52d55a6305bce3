import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { DOCUMENT, ROWS, findTests, readFiles, withTable } from './table.mjs';

test('every row of the interface has exactly one test, and every test belongs to a row', () => {
  const tested = findTests().map((found) => found.row);
  expect(tested.toSorted()).toEqual(ROWS.toSorted());
});

test('the title of every test begins with the name of a row', () => {
  for (const { file, source } of readFiles()) {
    const tests = source.match(/^[ \t]*(?:test|it)[.(]/gm)?.length;
    expect({ file, tests }).toEqual({ file, tests: source.match(/^test\('\d|\('%s', /gm)?.length });
  }
});

test('the table in docs/local-service.md matches the output of `npm run conformance-table`', () => {
  const document = readFileSync(DOCUMENT, 'utf8');
  expect(document).toBe(withTable(document));
});
