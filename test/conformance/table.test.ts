import { readFileSync } from 'node:fs';
import { expect, test } from '@jest/globals';
import { ROWS } from './rows.mjs';
import { DOCUMENT, findTests, withTable } from './table.mjs';

test('every row of the interface has exactly one test, and every test is of a row', () => {
  const tested = findTests().map((found) => found.row);
  expect(tested.toSorted()).toEqual(ROWS.toSorted());
});

test('the table in docs/local-service.md is as `npm run conformance-table` writes it', () => {
  const document = readFileSync(DOCUMENT, 'utf8');
  expect(document).toBe(withTable(document));
});
