import { expect, test } from '@jest/globals';
import { counted, grouped } from '../../../public/counts.js';

test.each([
  [0, '0 items'],
  [1, '1 item'],
  [2, '2 items'],
  [12_345, '12,345 items'],
])('%d is counted as %s', (number, words) => {
  expect(counted(number, 'item')).toBe(words);
});

test('Long numbers are grouped', () => {
  expect([grouped(999), grouped(1_000), grouped(1_234_567)]).toEqual(['999', '1,000', '1,234,567']);
});
