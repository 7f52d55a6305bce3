import { expect, test } from '@jest/globals';
import { formatCount, formatNumber } from '../../../src/browser/counts.ts';
import { createLineCount, createRecordCount } from '../../../src/browser/list/item-counts.ts';

test.each([
  [0, '0 items'],
  [1, '1 item'],
  [2, '2 items'],
  [12_345, '12,345 items'],
])('%d is formatted as %s', (number, words) => {
  expect(formatCount(number, 'item')).toBe(words);
});

test('long numbers have thousands separators', () => {
  expect([999, 1_000, 1_234_567].map(formatNumber)).toEqual(['999', '1,000', '1,234,567']);
});

/** Counts the items in a text twice: as one chunk and byte by byte. Checks that the counts are equal, and returns the count. */
function countOf(create: typeof createLineCount, text: string): number {
  const bytes = new TextEncoder().encode(text);
  const whole = create()(bytes);
  const count = create();
  let oneByOne = count(new Uint8Array());
  for (const byte of bytes) oneByOne = count(Uint8Array.of(byte));
  expect(oneByOne).toBe(whole);
  return whole;
}

test.each([
  ['nothing', '', 0],
  ['an unfinished line', '{"a":1}', 0],
  ['two lines', '{"a":1}\n{"a":2}\n', 2],
  // In UTF-8, U+010A is 0xC4 0x8A, and U+2028 is 0xE2 0x80 0xA8. Neither character contains a line feed byte.
  ['multi-byte characters', '{"a":"Ċ😀\u2028"}\n{"é":"ﬁ"}\n', 2],
])('the item count of an NDJSON export is correct for %s', (_what, text, items) => {
  expect(countOf(createLineCount, text)).toBe(items);
});

test.each([
  ['nothing', '', 0],
  ['only the header', 'id,name\r\n', 0],
  ['two records', 'id,name\r\n1,a\r\n2,b\r\n', 2],
  ['a line break in quotes', 'id,name\r\n1,"a\r\nb\nc"\r\n', 1],
  ['escaped quotes in quotes', 'id,name\r\n1,"say ""\r\n"" twice"\r\n2,""""\r\n', 2],
  ['a header with a line break', '"id\r\n","name"\r\n1,a\r\n', 1],
  ['multi-byte characters', 'id,name\r\n1,"Ċ“😀”"\r\n', 1],
  ['an unfinished record', 'id,name\r\n1,"a\r\n', 0],
])('the item count of a CSV export is correct for %s', (_what, text, items) => {
  expect(countOf(createRecordCount, text)).toBe(items);
});
