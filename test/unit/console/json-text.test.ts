import { expect, test } from '@jest/globals';
import { layOutJson } from '../../../public/console/json-text.js';
import { fc } from '../../support/properties.ts';

const layOut = (text: string) => layOutJson(text, 1_000_000).text;

test('JSON is laid out as everyone writes it', () => {
  const value = { a: [1, { b: null }], c: {}, d: [], e: 'x' };
  expect(layOut(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
});

test('Any JSON means the same when it is laid out', () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(0, 1, 3), (json, blanks) => {
      const text = JSON.stringify(JSON.parse(json), null, blanks);
      expect(JSON.parse(layOut(text))).toEqual(JSON.parse(text));
    }),
  );
});

test('Numbers of any size, the order of names and repeated ones stay as they are', () => {
  const text = '{"b":12345678901234567890123,"a":1.0e400,"2":0.10,"1":-0,"a":1}';
  expect(layOut(text).replaceAll(/\s/g, '')).toBe(text);
});

test('What can’t be seen or turns the text around is written as its escape', () => {
  expect(layOut('"a\u202eb\u200b\ud800"')).toBe('"a\\u202eb\\u200b\\ud800"');
  expect(layOut('"👩‍👩‍👧 עברית"')).toBe('"👩‍👩‍👧 עברית"');
});

test('It tells names, texts and other values apart', () => {
  const { text, marks } = layOutJson('{"a" : "b", "c": [true, "\\"]"]}', 1_000);
  expect(marks.map(({ kind, start, end }) => [kind, text.slice(start, end)])).toEqual([
    ['name', '"a"'],
    ['text', '"b"'],
    ['name', '"c"'],
    ['value', 'true'],
    ['text', '"\\"]"'],
  ]);
});

test.each([
  ['ten thousand levels', '['.repeat(10_000) + ']'.repeat(10_000)],
  ['ten thousand names within each other', '{"a":'.repeat(10_000)],
  ['one long text', `"${'x'.repeat(5_000_000)}"`],
  ['one long text that never ends', `"${'\\"'.repeat(2_000_000)}`],
  ['many small values', `[${'1,'.repeat(2_000_000)}1]`],
  ['nothing but blanks', ' '.repeat(5_000_000)],
  ['no JSON at all', '}]:,"\\'.repeat(100_000)],
])('%s stays within bounds', (_what, text) => {
  const laidOut = layOutJson(text, 200_000);
  expect(laidOut.text.length).toBeLessThan(210_000);
  expect(laidOut.marks.length).toBeLessThan(5_000);
});

test('Any text at all is laid out without losing a sign that can be seen', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => {
      const signs = (value: string) => value.replaceAll(/\s/g, '');
      expect(signs(layOut(text))).toBe(signs(text));
    }),
  );
});
