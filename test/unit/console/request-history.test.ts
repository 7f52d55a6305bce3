import { expect, test } from '@jest/globals';
import {
  forgetHistory,
  noteOutcome,
  readHistory,
  remember,
} from '../../../public/console/request-history.js';
import { createStore, usual, ORIGIN } from './fixtures.ts';
import { forgetDraft, keepDraft, readDraft } from '../../../public/console/request-draft.js';
import { toOutcome, toTarget } from '../../../public/console/past-words.js';

const request = (path: string, headers: [string, string][] = [], body = '') => ({
  ...{ method: 'POST', path, query: [] as [string, string][], headers, contentType: 'text/plain', body },
});

const AT = Date.UTC(2026, 0, 1);

test('the history has each request once, the latest first', () => {
  const store = createStore();
  for (const path of ['/api/1', '/api/2', '/api/1']) remember(store, request(path), AT);
  expect(readHistory(store).map((past) => past.request.path)).toEqual(['/api/1', '/api/2']);
});

test('the history keeps fifty requests', () => {
  const store = createStore();
  for (let at = 0; at < 60; at += 1) remember(store, request(`/api/${at}`), AT);
  expect(readHistory(store)).toHaveLength(50);
  expect(readHistory(store)[0]?.request.path).toBe('/api/59');
});

test('the history has no credentials', () => {
  const store = createStore();
  remember(
    store,
    request('/api/1', [
      ['authorization', 'Bearer secret'],
      [' Cookie', 'secret'],
      ['Accept', '*/*'],
    ]),
    AT,
  );
  expect([...store.values.values()].join()).not.toContain('secret');
  expect(readHistory(store)[0]?.request.headers).toEqual([['Accept', '*/*']]);
});

test('the history leaves a long body out, and says so', () => {
  const store = createStore();
  remember(store, request('/api/1', [], 'x'.repeat(20_000)), AT);
  remember(store, request('/api/2', [], 'x'.repeat(20_001)), AT);
  expect(readHistory(store)).toMatchObject([
    { request: { path: '/api/2', body: '' }, isWhole: false },
    { request: { path: '/api/1' }, isWhole: true },
  ]);
});

test('a request keeps the time at which it was sent, and its outcome once there is one', () => {
  const store = createStore();
  remember(store, request('/api/1'), AT);
  expect(readHistory(store)).toMatchObject([{ sentAt: AT, outcome: '' }]);
  expect(noteOutcome(store, AT, '200')).toBe(true);
  expect(readHistory(store)).toMatchObject([{ request: request('/api/1'), outcome: '200' }]);
});

test('the outcome of a forgotten request is not kept', () => {
  const store = createStore();
  remember(store, request('/api/1'), AT);
  forgetHistory(store);
  expect(noteOutcome(store, AT, '200')).toBe(false);
  remember(store, request('/api/2'), AT + 1);
  expect(noteOutcome(store, AT, '200')).toBe(false);
  expect(readHistory(store)).toMatchObject([{ outcome: '' }]);
});

test.each([
  '{',
  '5',
  'null',
  '[null, {"method":"GET"}, {"request":{"method":1}}]',
  JSON.stringify([{ request: request('/api/1'), isWhole: true, sentAt: 1e300, outcome: '' }]),
])('the history ignores a value of another form: %s', (value) => {
  const store = createStore();
  store.setItem('console-history', value);
  expect(readHistory(store)).toEqual([]);
});

test('a full store drops the history, and throws no error', () => {
  const store = createStore(300);
  remember(store, request('/api/1'), AT);
  remember(store, request('/api/2', [], 'x'.repeat(300)), AT);
  expect(readHistory(store)).toEqual([]);
});

test('a forgotten history leaves nothing in the store', () => {
  const store = createStore();
  remember(store, request('/api/1'), AT);
  forgetHistory(store);
  expect(store.values.size).toBe(0);
});

test('the last state of the form is kept until it is forgotten', () => {
  const store = createStore();
  expect(readDraft(store)).toBeNull();
  for (const path of ['/api/1', '/api/2']) keepDraft(store, { ...usual, path });
  expect(readDraft(store)).toEqual({ request: { ...usual, path: '/api/2' }, isWhole: true });
  forgetDraft(store);
  expect(store.values.size).toBe(0);
});

test('a draft has no credentials', () => {
  const store = createStore();
  keepDraft(store, {
    ...usual,
    headers: [
      ['Authorization', 'Bearer secret'],
      ['Accept', '*/*'],
    ],
  });
  expect([...store.values.values()].join()).not.toContain('secret');
  expect(readDraft(store)?.request.headers).toEqual([['Accept', '*/*']]);
});

test('a draft leaves a long body out, and says so', () => {
  const store = createStore();
  keepDraft(store, { ...usual, body: 'x'.repeat(20_001) });
  expect(readDraft(store)).toEqual({ request: usual, isWhole: false });
});

test('a full store keeps no older draft', () => {
  const store = createStore(300);
  expect(keepDraft(store, usual)).toBe(true);
  expect(keepDraft(store, { ...usual, body: 'x'.repeat(300) })).toBe(false);
  expect(readDraft(store)).toBeNull();
});

test.each(['{', '5', 'null', '{"request":{"method":1},"isWhole":true}', JSON.stringify({ request: usual })])(
  'a draft of another form is ignored: %s',
  (value) => {
    const store = createStore();
    store.setItem('console-draft', value);
    expect(readDraft(store)).toBeNull();
  },
);

const target = (query: [string, string][]) => toTarget({ ...usual, query }, ORIGIN);

test('the history shows short values as they are sent', () => {
  expect(
    target([
      ['limit', '10'],
      ['find', 'é &'],
    ]),
  ).toBe('/api/public/v1/workspaces?limit=10&find=%C3%A9%20%26');
});

test('a cursor is shortened in its middle, so that two cursors look different', () => {
  const token = (end: string) => `eyJsaW1pdCI6MTAsIm${'x'.repeat(100)}${end}`;
  expect(
    target([
      ['limit', '10'],
      ['next', token('one=')],
    ]),
  ).toBe('/api/public/v1/workspaces?limit=10&next=eyJsaW1p…xxxxone%3D');
  expect(target([['next', token('one')]])).not.toBe(target([['next', token('two')]]));
});

test('an escape counts as one character, and is never cut', () => {
  expect(target([['q', 'é'.repeat(20)]])).toMatch(/\?q=(?:%C3%A9){4}…(?:%C3%A9){4}$/);
  expect(target([['q', 'é'.repeat(12)]])).toMatch(/\?q=(?:%C3%A9){12}$/);
});

test('an invalid address is shown as the user typed it', () => {
  expect(toTarget({ ...usual, path: 'http://[' }, ORIGIN)).toBe('http://[');
});

test.each([
  [{ status: 200, end: 'whole' }, '200'],
  [{ status: 502, end: 'whole' }, '502'],
  [{ status: 200, end: 'broke-off' }, '200, broke off'],
  ['unreachable', 'no answer'],
  ['cancelled', 'cancelled'],
] as const)('an outcome is shown as a status or a word: %#', (outcome, words) => {
  expect(toOutcome(outcome)).toBe(words);
});
