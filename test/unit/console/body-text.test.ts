import { expect, test } from '@jest/globals';
import { SHOWN_BYTES, toShownBody } from '../../../public/console/body-text.js';

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
