import { describe, expect, test } from '@jest/globals';
import { SHOWN_BYTES, toShownBody } from '../../../../src/browser/console/body-text.ts';
import { formatJson } from '../../../../src/browser/console/json-text.ts';
import { fc } from '../../../support/properties.ts';

const shown = async (bytes: string | Uint8Array<ArrayBuffer>, type = '') =>
  toShownBody(new Blob([bytes]), type);

describe('a body', () => {
  test.each<[string, string | Uint8Array<ArrayBuffer>, string, object]>([
    [
      'of JSON is formatted and parsed',
      '{"next":"n"}',
      'application/json; charset=utf-8',
      { kind: 'json', text: '{\n  "next": "n"\n}', json: { next: 'n' }, notes: [] },
    ],
    ['of type application/problem+json is JSON', '[]', 'application/problem+json', { kind: 'json' }],
    ['of type text/json is JSON', '[]', 'text/json', { kind: 'json' }],
    ['with an upper-case JSON type is JSON', '[]', 'APPLICATION/JSON', { kind: 'json' }],
    [
      'of invalid JSON is shown unchanged',
      '{"a":',
      'application/json',
      { kind: 'text', text: '{"a":', notes: [expect.stringMatching(/but the body is not/)], json: undefined },
    ],
    ['of HTML is shown as text', '<b>é</b>', 'text/html', { kind: 'text', text: '<b>é</b>' }],
    ['without a type may be text', 'plain', '', { kind: 'text', text: 'plain' }],
    ['in Latin-1 is decoded', new Uint8Array([0xe9]), 'text/plain; charset="iso-8859-1"', { text: 'é' }],
    [
      'in an unknown encoding is decoded as UTF-8',
      'é',
      'text/plain; charset=klingon',
      { text: 'é', notes: [] },
    ],
    [
      'of text with invalid UTF-8 is shown with a note',
      new Uint8Array([65, 0xff, 66]),
      'text/plain',
      { kind: 'text', text: 'A\ufffdB', notes: [expect.stringMatching(/not valid UTF-8/)] },
    ],
    [
      'of an image is not shown',
      new Uint8Array([0x89, 0x50, 0xff]),
      'image/png',
      { kind: 'binary', text: '' },
    ],
    ['with a NUL byte is treated as binary', new Uint8Array([65, 0, 66]), '', { kind: 'binary', text: '' }],
    ['of zero bytes is treated as no body', '', 'application/json', { kind: 'none', text: '' }],
  ])('%s', async (_what, bytes, type, expected) => {
    expect(await shown(bytes, type)).toMatchObject(expected);
  });

  test('that is too long is truncated at a character boundary', async () => {
    const { text, notes } = await shown(`x${'é'.repeat(SHOWN_BYTES)}`, 'text/plain');
    expect(text).toBe(`x${'é'.repeat(SHOWN_BYTES / 2 - 1)}`);
    expect(notes).toEqual([expect.stringMatching(/Only the beginning is shown.*400,001 bytes/)]);
  });

  test('of 20 MB of JSON is read only up to the display limit and is not parsed', async () => {
    const whole = new Blob([`[${'{"a":1},'.repeat(2_500_000)}1]`]);
    const refuse = () => {
      throw new Error('the entire body was read');
    };
    const body = await toShownBody(
      Object.assign(whole, { arrayBuffer: refuse, bytes: refuse, stream: refuse, text: refuse }),
      'application/json',
    );
    expect(body).toMatchObject({ kind: 'json', json: undefined });
    expect(body.text.length).toBeLessThan(SHOWN_BYTES * 1.1);
  });
});

describe('formatted JSON', () => {
  const format = (text: string) => formatJson(text, 1_000_000).text;
  const withoutWhitespace = (text: string) => text.replaceAll(/\s/g, '');

  test('has the same indentation as JSON.stringify output', () => {
    const value = { a: [1, { b: null }], c: {}, d: [], e: 'x' };
    expect(format(JSON.stringify(value))).toBe(JSON.stringify(value, null, 2));
  });

  test('has the same value as the original', () => {
    fc.assert(
      fc.property(fc.json(), fc.constantFrom(0, 1, 3), (json, indent) => {
        const text = JSON.stringify(JSON.parse(json), null, indent);
        expect(JSON.parse(format(text))).toEqual(JSON.parse(text));
      }),
    );
  });

  test('preserves long numbers, duplicate names and the order of names', () => {
    const text = '{"b":12345678901234567890123,"a":1.0e400,"2":0.10,"1":-0,"a":1}';
    expect(withoutWhitespace(format(text))).toBe(text);
  });

  test('escapes invisible characters and characters that change the text direction', () => {
    expect(format('"a\u202eb\u200b\ud800"')).toBe('"a\\u202eb\\u200b\\ud800"');
    expect(format('"👩‍👩‍👧 עברית"')).toBe('"👩‍👩‍👧 עברית"');
  });

  test('marks names, strings and other values', () => {
    const { text, marks } = formatJson('{"a" : "b", "c": [true, "\\"]"]}', 1_000);
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
    ['ten thousand nested names', '{"a":'.repeat(10_000)],
    ['one long string', `"${'x'.repeat(5_000_000)}"`],
    ['one long unterminated string', `"${'\\"'.repeat(2_000_000)}`],
    ['many small values', `[${'1,'.repeat(2_000_000)}1]`],
    ['only whitespace', ' '.repeat(5_000_000)],
    ['invalid JSON', '}]:,"\\'.repeat(100_000)],
  ])('of %s stays within the limits', (_what, text) => {
    const formatted = formatJson(text, 200_000);
    expect(formatted.text.length).toBeLessThan(210_000);
    expect(formatted.marks.length).toBeLessThan(5_000);
  });

  test('keeps every visible character of any text', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme-ascii' }), (text) => {
        expect(withoutWhitespace(format(text))).toBe(withoutWhitespace(text));
      }),
    );
  });
});
