import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { DOCUMENT, ROWS, countTests, findTests, withTable } from './table.mjs';

test('every row of the interface has exactly one test, and every test is of a row', () => {
  const tested = findTests().map((found) => found.row);
  expect(tested.toSorted()).toEqual(ROWS.toSorted());
});

test('no test stands where the table doesn’t see it', () => {
  for (const { file, tests } of countTests()) {
    expect({ file, tests }).toEqual({
      file,
      tests: findTests().filter((found) => found.file === file).length,
    });
  }
});

test('the table in docs/local-service.md is as `npm run conformance-table` writes it', () => {
  const document = readFileSync(DOCUMENT, 'utf8');
  expect(document).toBe(withTable(document));
});
