import { expect, test } from '@jest/globals';
import { elementsOf, membersOf, toOneLine } from '../../../../src/workspaces/export/json.ts';
import { fc } from '../../../support/properties.ts';

const BLANKS = fc.array(fc.constantFrom(' ', '\t', '\n', '\r'), { maxLength: 3 }).map((all) => all.join(''));
const WORD = fc.oneof(
  fc.constantFrom('true', 'false', 'null', '-0', '1E400', '-12.50e-3', '9007199254740993', '0.10'),
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
);
const LETTER = fc.oneof(
  fc.constantFrom('\\"', '\\\\', '\\/', '\\u0022', '\\ud800', '\\n', '[', '{', '}', ',', ':', ' ', '\u2028'),
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength: 2 })
    .map((text) => JSON.stringify(text).slice(1, -1)),
);
const STRING = fc.array(LETTER, { maxLength: 6 }).map((letters) => `"${letters.join('')}"`);

/** Generates JSON text with random whitespace around each token. */
const { value: VALUE } = fc.letrec<{ value: string }>((tie) => {
  const padded = (text: fc.Arbitrary<string>) =>
    fc.tuple(BLANKS, text, BLANKS).map((parts) => parts.join(''));
  const list = (item: fc.Arbitrary<string>) => fc.array(item, { maxLength: 4 }).map((all) => all.join(','));
  const member = fc.tuple(padded(STRING), padded(tie('value'))).map((both) => both.join(':'));
  const array = fc.tuple(list(padded(tie('value'))), BLANKS).map((both) => `[${both.join('')}]`);
  const object = fc.tuple(list(member), BLANKS).map((both) => `{${both.join('')}}`);
  return { value: fc.oneof({ depthSize: 'small' }, WORD, STRING, array, object) };
});
const VALUES = fc.array(fc.tuple(VALUE, BLANKS, BLANKS), { maxLength: 5 });

test('elementsOf returns each element of an array unchanged', () => {
  fc.assert(
    fc.property(VALUES, BLANKS, (values, blanks) => {
      const inside = values.map(([value, before, after]) => before + value + after).join(',');
      const array = `[${inside}${blanks}]`;
      JSON.parse(array);
      expect(elementsOf(array)).toEqual(values.map(([value]) => value));
    }),
  );
});

test('membersOf returns each member of an object unchanged, but only the last of several members with the same name', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(STRING, VALUE, BLANKS), { maxLength: 6 }), (members) => {
      const object = `{${members.map(([name, value, blank]) => `${blank}${name}${blank}:${blank}${value}${blank}`).join(',')}}`;
      JSON.parse(object);
      const expected = new Map(members.map(([name, value]) => [JSON.parse(name) as string, value]));
      expect([...membersOf(object)]).toEqual([...expected]);
    }),
  );
});

test('toOneLine keeps the value and removes only whitespace outside strings', () => {
  fc.assert(
    fc.property(VALUE, (value) => {
      const line = toOneLine(value);
      expect(line).not.toMatch(/[\n\r]/);
      expect(JSON.parse(line)).toEqual(JSON.parse(value));
      // Without whitespace, both texts are equal, so toOneLine() changed only whitespace.
      expect(line.replaceAll(/[ \t]/g, '')).toBe(value.replaceAll(/[ \t\n\r]/g, ''));
      expect(line === value || /[\n\r]/.test(value)).toBe(true);
    }),
  );
});

test('toOneLine removes only line breaks and the indentation after them', () => {
  expect(toOneLine('{\n  "a b" : [ 1,\r\n\t"c \\n d" ]\n}')).toBe('{"a b" : [ 1,"c \\n d" ]}');
});

test('membersOf returns a member named __proto__', () => {
  expect([...membersOf('{"__proto__":{"a":1},"constructor":2}')]).toEqual([
    ['__proto__', '{"a":1}'],
    ['constructor', '2'],
  ]);
});

test('elementsOf returns deeply nested and very long values', () => {
  const deep = '['.repeat(200_000) + ']'.repeat(200_000);
  const long = `"${'\\"'.repeat(1_000_000)}"`;
  expect(elementsOf(`[${deep},${long}]`)).toEqual([deep, long]);
});
