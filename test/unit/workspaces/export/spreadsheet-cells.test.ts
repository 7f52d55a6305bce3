import { expect, test } from '@jest/globals';
import { toHarmlessText } from '../../../../src/workspaces/export/spreadsheet-cells.ts';
import { fc } from '../../../support/properties.ts';

test.each([
  ['=1+1', "'=1+1"],
  ['+1', "'+1"],
  ['-2+3', "'-2+3"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\tafter a tab', "'\tafter a tab"],
  ['\rafter a return', "'\rafter a return"],
  ['\nafter a line break', "'\nafter a line break"],
  ['＝1', "'＝1"],
  ['＋1', "'＋1"],
  ['－1', "'－1"],
  ['＠A1', "'＠A1"],
  ['﹦1', "'﹦1"],
  ['  =1', "'  =1"],
  ['\u00a0\u200b\ufeff=1', "'\u00a0\u200b\ufeff=1"],
  ['\u0000=1', "'\u0000=1"],
  [' \t=1', "' \t'=1"],
  ['a;=1', "a;'=1"],
  ['a; =1;@b', "a; '=1;'@b"],
  [';=1', ";'=1"],
  ['a\n=1', "a\n'=1"],
  ['a\r\n-1', "a\r\n'-1"],
])('%j begins no formula any more', (text, harmless) => {
  expect(toHarmlessText(text)).toBe(harmless);
});

test.each([
  '',
  'a',
  'a=b',
  'a - b',
  '1;2',
  "'=1",
  '{"a":-1}',
  'https://example.com/?a=1',
  'a\nb',
  '😀',
  '–1',
])('%j stays as it is', (text) => {
  expect(toHarmlessText(text)).toBe(text);
});

const HOSTILE = fc
  .array(fc.constantFrom('=', '+', '-', '@', '＝', ';', '\t', '\r', '\n', ' ', '\u200b', "'", 'a', '"', ','))
  .map((letters) => letters.join(''));

test('Wherever a reader of any kind begins a cell, it finds no formula; and nothing but apostrophes was added', () => {
  fc.assert(
    fc.property(HOSTILE, (text) => {
      const harmless = toHarmlessText(text);
      for (const cell of [harmless, ...harmless.split(/[;\t\r\n]/)]) {
        expect(cell).not.toMatch(/^[\s\p{C}\p{Z}]*[=+\-@＝]/u);
      }
      expect(harmless.replaceAll("'", '')).toBe(text.replaceAll("'", ''));
    }),
  );
});

test.each(['x;"=1+1;y', 'x\n"=1+2;y', 'x\t"=1+3\ty', 'x;"＝1+7;y', 'x\r"@SUM(1);y', 'x;" "=1'])(
  'A quote does not hide where a cell begins for a reader of other separators: %j',
  (text) => {
    const harmless = toHarmlessText(text);
    expect(harmless).not.toBe(text);
    // As such a reader takes the file: quotes doubled, an empty quoted part ahead.
    for (const cell of `"${harmless.replaceAll('"', '""')}"`.split(/[;\t\r\n]/)) {
      expect(cell.replaceAll('"', '')).not.toMatch(/^[\s\p{C}\p{Z}]*[=+\-@＝]/u);
    }
  },
);

test('A cell of a million beginnings is made harmless at each', () => {
  expect(toHarmlessText(';='.repeat(1_000_000))).toBe(";'=".repeat(1_000_000));
});
