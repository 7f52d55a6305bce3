import { expect, test } from '@jest/globals';
import { parse } from 'csv-parse/sync';
import { csvParseRows } from 'd3-dsv';
import papaparse from 'papaparse';
import { CSV, neutraliseFormulas } from '../../../../src/workspaces/export/csv.ts';
import { fc } from '../../../support/properties.ts';

/** Returns the CSV export of these pages, in which each item is JSON text. */
function write(...pages: readonly (readonly string[])[]): string {
  const writer = CSV.createWriter();
  let text = '';
  for (const items of pages) for (const piece of writer.write(items)) text += piece;
  return text + writer.end();
}

/**
 * Parses text with three independent parsers, which must agree, and returns the rows. No parser is told the line ending, because
 * many parsers also end a row at a lone CR or LF. Papa Parse removes one leading byte order mark, so its text gets an extra one.
 */
function read(text: string): string[][] {
  const rows = csvParseRows(text);
  expect(parse(text)).toEqual(rows);
  const { data, errors } = papaparse.parse<string[]>(`\ufeff${text.replace(/\r\n$/, '')}`, {
    delimiter: ',',
  });
  expect([data, errors]).toEqual([rows, []]);
  return rows;
}

const toJson = (items: readonly unknown[]) => items.map((item) => JSON.stringify(item));

test.each([
  ['a header row and CRLF after each row', [['{"id":1,"name":"A"}']], 'id,name\r\n1,A\r\n'],
  ['a header row with id and name if there are no pages', [], 'id,name\r\n'],
  ['a header row with id and name for an empty page', [[]], 'id,name\r\n'],
  [
    'id first, then name and title, then the other fields in their original order',
    [['{"locked":true,"title":"T","id":1}', '{"other":2,"name":"N"}']],
    'id,name,title,locked,other\r\n1,,T,true,\r\n,N,,,2\r\n',
  ],
  [
    'no columns for fields that first occur on later pages, and empty cells for missing fields',
    [['{"id":1,"a":2}'], ['{"b":3,"a":4}']],
    'id,a\r\n1,2\r\n,4\r\n',
  ],
  ['the columns of the first page that has items', [[], ['{"id":1,"a":2}']], 'id,a\r\n1,2\r\n'],
  [
    'a negative number unchanged, and an apostrophe before the same text as a string',
    [['{"a":-5,"b":"-5"}']],
    "a,b\r\n-5,'-5\r\n",
  ],
])('CSV has %s', (_what, pages, text) => {
  expect(write(...pages)).toBe(text);
});

test('a value that is not a string is exported as the JSON text from the service', () => {
  const item = '{"id":9007199254740993,"a":1.50,"b":null,"c":[1, 2],"d":{"x":"y"},"e":false,"f":"\\u0041"}';
  const row = ['9007199254740993', '1.50', 'null', '[1, 2]', '{"x":"y"}', 'false', 'A'];
  expect(read(write([item]))[1]).toEqual(row);
});

test('field names and JSON values are never formulas', () => {
  expect(read(write(toJson([{ '=A1': 1, '\t@b': ['x;=1'] }])))).toEqual([
    ["'=A1", "'\t'@b"],
    ['1', `["x;'=1"]`],
  ]);
});

test.each(['\n', '\r', '\r\n', '\n\r', ',', '"'])('a cell with %j is quoted', (mark) => {
  const name = `fake${mark}id-9`;
  const text = write(toJson([{ id: 1, name }]));
  expect(text).toBe(`id,name\r\n1,"${name.replaceAll('"', '""')}"\r\n`);
  expect(read(text)).toEqual([
    ['id', 'name'],
    ['1', name],
  ]);
});

test('a list whose only column is empty still has a row for each item', () => {
  expect(read(write(toJson([{ a: '' }, { a: '' }, {}])))).toEqual([['a'], [''], [''], ['']]);
});

test('a large page has a column for each field in any of its items', () => {
  const items = [...Array.from({ length: 150 }, (_, id) => ({ id })), { last: 1 }];
  const rows = read(write(toJson(items)));
  expect(rows).toHaveLength(152);
  expect(rows.at(-1)).toEqual(['', '1']);
});

test.each(['"text"', '1', 'null', '[{"id":1}]'])(
  'the item %s can’t become a row, so the export fails',
  (item) => {
    expect(() => write([item])).toThrow(expect.objectContaining({ status: 502, code: 'list_not_tabular' }));
    expect(() => write(['{"id":1}'], [item])).toThrow('This list can’t be exported as CSV');
  },
);

test('an export fails if it has more columns than a spreadsheet allows', () => {
  const wide = (count: number) =>
    JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}`, n])));
  expect(read(write([wide(16_384)]))[1]).toHaveLength(16_384);
  expect(() => write([wide(16_385)])).toThrow('This list can’t be exported as CSV');
});

const TEXT = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc
    .array(fc.constantFrom('"', ',', '\r', '\n', '\r\n', '=', ' ', ';', 'a', '\u2028', '\ufeff'))
    .map((all) => all.join('')),
  fc.constantFrom('__proto__', 'constructor', 'id', 'name', 'title', '', 'x'.repeat(10_000)),
);
const VALUE = fc.oneof(TEXT, fc.jsonValue({ maxDepth: 2 }));
const ITEM = fc.array(fc.tuple(TEXT, VALUE), { maxLength: 6 }).map((members) => new Map(members));

function toItemText(item: ReadonlyMap<string, unknown>): string {
  return `{${[...item].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`).join(',')}}`;
}

function toCellText(value: unknown): string {
  if (value === undefined) return '';
  if (typeof value === 'number') return JSON.stringify(value);
  return neutraliseFormulas(typeof value === 'string' ? value : JSON.stringify(value));
}

test('three parsers read back the values that were written', () => {
  fc.assert(
    fc.property(fc.array(ITEM, { minLength: 1, maxLength: 5 }), (items) => {
      const names = new Set(items.flatMap((item) => [...item.keys()]));
      const first = ['id', 'name', 'title'].filter((name) => names.has(name));
      const columns = names.size === 0 ? ['id', 'name'] : [...new Set([...first, ...names])];
      const rows = read(write(items.map(toItemText)));
      expect(rows).toEqual([
        columns.map(neutraliseFormulas),
        ...items.map((item) => columns.map((name) => toCellText(item.get(name)))),
      ]);
    }),
  );
});

test.each([
  ['=1+1', "'=1+1"],
  ['-2+3', "'-2+3"],
  ['@SUM(A1)', "'@SUM(A1)"],
  ['\tafter a tab', "'\tafter a tab"],
  ['\rafter a return', "'\rafter a return"],
  ['＝1', "'＝1"],
  ['＠A1', "'＠A1"],
  ['﹦1', "'﹦1"],
  ['  =1', "'  =1"],
  ['\u00a0\u200b\ufeff=1', "'\u00a0\u200b\ufeff=1"],
  [' \t=1', "' \t'=1"],
  ['a;=1', "a;'=1"],
  ['a; =1;@b', "a; '=1;'@b"],
  ['a\n=1', "a\n'=1"],
  ['a\r\n-1', "a\r\n'-1"],
  // A parser that expects a different separator treats the quote as the start of a quoted cell.
  ['x;"=1+1;y', 'x;"\'=1+1;y'],
  ['x\n"=1+2;y', 'x\n"\'=1+2;y'],
  ['x\t"=1+3\ty', 'x\t"\'=1+3\ty'],
  ['x;"＝1+7;y', 'x;"\'＝1+7;y'],
  ['x\r"@SUM(1);y', 'x\r"\'@SUM(1);y'],
  ['x;" "=1', 'x;" "\'=1'],
])('%j is not a formula once it is neutralised', (text, harmless) => {
  expect(neutraliseFormulas(text)).toBe(harmless);
});

const HARMLESS = [
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
];

test.each(HARMLESS)('%j is unchanged', (text) => {
  expect(neutraliseFormulas(text)).toBe(text);
});

const HOSTILE = fc
  .array(fc.constantFrom('=', '+', '-', '@', '＝', ';', '\t', '\r', '\n', ' ', '\u200b', "'", 'a', '"', ','))
  .map((letters) => letters.join(''));

test('no cell is a formula in any parser, and only apostrophes are added', () => {
  fc.assert(
    fc.property(HOSTILE, (text) => {
      const harmless = neutraliseFormulas(text);
      for (const cell of [harmless, ...harmless.split(/[;\t\r\n]/)]) {
        expect(cell).not.toMatch(/^[\s\p{C}\p{Z}]*[=+\-@＝]/u);
      }
      expect(harmless.replaceAll("'", '')).toBe(text.replaceAll("'", ''));
    }),
  );
});

test('each of a million formulas in a cell is neutralised', () => {
  expect(neutraliseFormulas(';='.repeat(1_000_000))).toBe(";'=".repeat(1_000_000));
});
