import { expect, test } from '@jest/globals';
import { SHOWN_BYTES, toShownBody } from '../../../public/console/body-text.js';
import { layOutJson } from '../../../public/console/json-text.js';
import { fc } from '../../support/properties.ts';

const shown = async (bytes: string | Uint8Array<ArrayBuffer>, type = '') =>
  toShownBody(new Blob([bytes]), type);

test('JSON is laid out and looked into', async () => {
  expect(await shown('{"next":"n"}', 'application/json; charset=utf-8')).toMatchObject({
    kind: 'json',
    text: '{\n  "next": "n"\n}',
    json: { next: 'n' },
    notes: [],
  });
});

test.each(['application/problem+json', 'text/json', 'APPLICATION/JSON'])('%s is JSON', async (type) => {
  expect((await shown('[]', type)).kind).toBe('json');
});

test('What only says that it is JSON is shown as it came', async () => {
  expect(await shown('{"a":', 'application/json')).toMatchObject({
    kind: 'text',
    text: '{"a":',
    notes: [expect.stringMatching(/it is not/)],
    json: undefined,
  });
});

test('Text is shown as it is, of whatever type it says to be', async () => {
  expect(await shown('<b>é</b>', 'text/html')).toMatchObject({ kind: 'text', text: '<b>é</b>' });
  expect(await shown('plain', '')).toMatchObject({ kind: 'text', text: 'plain' });
  expect(await shown(new Uint8Array([0xe9]), 'text/plain; charset="iso-8859-1"')).toMatchObject({
    text: 'é',
  });
});

test('Bytes that are no text are not shown', async () => {
  expect(await shown(new Uint8Array([0x89, 0x50, 0xff]), 'image/png')).toMatchObject({
    kind: 'binary',
    text: '',
  });
  expect(await shown(new Uint8Array([65, 0, 66]))).toMatchObject({ kind: 'binary' });
});

test('Text that is no UTF-8 is shown with marks, and a note', async () => {
  expect(await shown(new Uint8Array([65, 0xff, 66]), 'text/plain')).toMatchObject({
    kind: 'text',
    text: 'A\ufffdB',
    notes: [expect.stringMatching(/not valid UTF-8/)],
  });
});

test('An unknown encoding counts as UTF-8', async () => {
  expect(await shown('é', 'text/plain; charset=klingon')).toMatchObject({ text: 'é', notes: [] });
});

test('Of a large text the beginning is shown, and no character is cut in half', async () => {
  const { text, notes } = await shown(`x${'é'.repeat(SHOWN_BYTES)}`, 'text/plain');
  expect(text).toBe(`x${'é'.repeat(SHOWN_BYTES / 2 - 1)}`);
  expect(notes).toEqual([expect.stringMatching(/Only its beginning is shown.*400,001 bytes/)]);
});

test('Of JSON of 20 MB no more is read than is shown, and it is not looked into', async () => {
  const whole = new Blob([`[${'{"a":1},'.repeat(2_500_000)}1]`]);
  const refuse = () => {
    throw new Error('all of it was read');
  };
  const body = await toShownBody(
    Object.assign(whole, { arrayBuffer: refuse, bytes: refuse, stream: refuse, text: refuse }),
    'application/json',
  );
  expect(body).toMatchObject({ kind: 'json', json: undefined });
  expect(body.text.length).toBeLessThan(SHOWN_BYTES * 1.1);
});

test('No body is none', async () => {
  expect(await shown('', 'application/json')).toMatchObject({ kind: 'none', text: '' });
});

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
