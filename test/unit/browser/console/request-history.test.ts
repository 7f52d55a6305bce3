import { describe, expect, test } from '@jest/globals';
import { toOutcomeLabel, toTargetLabel } from '../../../../src/browser/console/history-labels.ts';
import { clearDraft, saveDraft, readDraft } from '../../../../src/browser/console/request-draft.ts';
import {
  clearHistory,
  recordOutcome,
  readHistory,
  addToHistory,
} from '../../../../src/browser/console/request-history.ts';
import { createStore, ORIGIN, suggestedRequest } from './fixtures.ts';

type Store = ReturnType<typeof createStore>;
type Request = typeof suggestedRequest;

const SENT_AT = Date.UTC(2026, 0, 1);
const keepInHistory = (store: Store, request: Request) => addToHistory(store, request, SENT_AT);
const remembered = (store: Store, ...paths: string[]) => {
  for (const path of paths) keepInHistory(store, { ...suggestedRequest, path });
  return readHistory(store);
};

describe.each([
  { what: 'the history', keep: keepInHistory, read: (store: Store) => readHistory(store)[0] },
  { what: 'the draft', keep: saveDraft, read: readDraft },
])('$what', ({ what, keep, read }) => {
  test('contains no credentials', () => {
    const store = createStore();
    keep(store, {
      ...suggestedRequest,
      headers: [
        ['authorization', 'Bearer secret'],
        [' Cookie', 'secret'],
        ['Accept', '*/*'],
      ],
    });
    expect([...store.values.values()].join()).not.toContain('secret');
    expect(read(store)?.request.headers).toEqual([['Accept', '*/*']]);
  });

  test('omits a long body and records the omission', () => {
    const store = createStore();
    keep(store, { ...suggestedRequest, body: 'x'.repeat(20_000) });
    expect(read(store)).toMatchObject({ request: { body: 'x'.repeat(20_000) }, isWhole: true });
    keep(store, { ...suggestedRequest, body: 'x'.repeat(20_001) });
    expect(read(store)).toMatchObject({ request: suggestedRequest, isWhole: false });
  });

  test('is deleted when the storage is full', () => {
    const store = createStore(300);
    expect(keep(store, suggestedRequest)).toBe(true);
    expect(keep(store, { ...suggestedRequest, body: 'x'.repeat(300) })).toBe(false);
    expect(store.values.size).toBe(0);
  });

  const stored = { request: suggestedRequest, isWhole: true, sentAt: SENT_AT, outcome: '' };
  const { isWhole: _isWhole, ...incomplete } = stored;
  test.each([
    '{',
    '5',
    'null',
    ...[{ ...stored, request: { method: 1 } }, incomplete].flatMap((value) => [
      JSON.stringify(value),
      JSON.stringify([null, value]),
    ]),
    JSON.stringify([{ ...stored, sentAt: 1e300 }]),
  ])('ignores an invalid stored value: %s', (value) => {
    const store = createStore();
    store.setItem(what === 'the draft' ? 'console-draft' : 'console-history', value);
    expect(read(store) ?? null).toBeNull();
  });
});

test('the history lists each request once, latest first', () => {
  const history = remembered(createStore(), '/api/1', '/api/2', '/api/1');
  expect(history.map(({ request }) => request.path)).toEqual(['/api/1', '/api/2']);
});

test('the history keeps the latest fifty requests', () => {
  const history = remembered(createStore(), ...Array.from({ length: 60 }, (_, index) => `/api/${index}`));
  expect(history).toHaveLength(50);
  expect(history[0]?.request.path).toBe('/api/59');
});

test('the history keeps the time of a request, and its outcome once known', () => {
  const store = createStore();
  expect(remembered(store, '/api/1')).toMatchObject([{ sentAt: SENT_AT, outcome: '' }]);
  expect(recordOutcome(store, SENT_AT, '200')).toBe(true);
  expect(readHistory(store)).toMatchObject([{ request: { path: '/api/1' }, outcome: '200' }]);
});

test('the outcome of a request that was cleared from the history is not stored', () => {
  const store = createStore();
  remembered(store, '/api/1');
  clearHistory(store);
  expect(store.values.size).toBe(0);
  expect(recordOutcome(store, SENT_AT, '200')).toBe(false);
  addToHistory(store, suggestedRequest, SENT_AT + 1);
  expect(recordOutcome(store, SENT_AT, '200')).toBe(false);
  expect(readHistory(store)).toMatchObject([{ outcome: '' }]);
});

test('the draft keeps the last state of the form until it is cleared', () => {
  const store = createStore();
  expect(readDraft(store)).toBeNull();
  for (const path of ['/api/1', '/api/2']) saveDraft(store, { ...suggestedRequest, path });
  expect(readDraft(store)).toEqual({ request: { ...suggestedRequest, path: '/api/2' }, isWhole: true });
  clearDraft(store);
  expect(store.values.size).toBe(0);
});

const cursor = (end: string) => `eyJsaW1pdCI6MTAsIm${'x'.repeat(100)}${end}`;

test.each([
  ['short values as they are sent', 'find', 'é &', '%C3%A9%20%26'],
  ['a cursor with its middle removed', 'next', cursor('one='), 'eyJsaW1p…xxxxone%3D'],
  ['two different cursors differently', 'next', cursor('two='), 'eyJsaW1p…xxxxtwo%3D'],
  ['no partial percent-encodings', 'q', 'é'.repeat(20), `${'%C3%A9'.repeat(4)}…${'%C3%A9'.repeat(4)}`],
  ['24 percent-encoded bytes in full', 'q', 'é'.repeat(12), '%C3%A9'.repeat(12)],
])('the history shows %s', (_what, name, value, shown) => {
  const query: [string, string][] = [
    ['limit', '10'],
    [name, value],
  ];
  expect(toTargetLabel({ ...suggestedRequest, query }, ORIGIN)).toBe(
    `${suggestedRequest.path}?limit=10&${name}=${shown}`,
  );
});

test('the history shows an invalid URL as the user typed it', () => {
  expect(toTargetLabel({ ...suggestedRequest, path: 'http://[' }, ORIGIN)).toBe('http://[');
});

test.each([
  [{ status: 200, end: 'complete' }, '200'],
  [{ status: 502, end: 'complete' }, '502'],
  [{ status: 200, end: 'interrupted' }, '200, incomplete'],
  ['unreachable', 'no response'],
  ['cancelled', 'cancelled'],
] as const)('the history shows the outcome %j as “%s”', (outcome, words) => {
  expect(toOutcomeLabel(outcome)).toBe(words);
});
