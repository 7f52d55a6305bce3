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

test('The latest request stands first, and each once', () => {
  const store = createStore();
  for (const path of ['/api/1', '/api/2', '/api/1']) remember(store, request(path), AT);
  expect(readHistory(store).map((past) => past.request.path)).toEqual(['/api/1', '/api/2']);
});

test('Fifty are kept', () => {
  const store = createStore();
  for (let at = 0; at < 60; at += 1) remember(store, request(`/api/${at}`), AT);
  expect(readHistory(store)).toHaveLength(50);
  expect(readHistory(store)[0]?.request.path).toBe('/api/59');
});

test('Never with a credential', () => {
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

test('A long body is left out, which is known of it', () => {
  const store = createStore();
  remember(store, request('/api/1', [], 'x'.repeat(20_000)), AT);
  remember(store, request('/api/2', [], 'x'.repeat(20_001)), AT);
  expect(readHistory(store)).toMatchObject([
    { request: { path: '/api/2', body: '' }, isWhole: false },
    { request: { path: '/api/1' }, isWhole: true },
  ]);
});

test('When it was sent is kept, and what became of it once that is known', () => {
  const store = createStore();
  remember(store, request('/api/1'), AT);
  expect(readHistory(store)).toMatchObject([{ sentAt: AT, outcome: '' }]);
  expect(noteOutcome(store, AT, '200')).toBe(true);
  expect(readHistory(store)).toMatchObject([{ request: request('/api/1'), outcome: '200' }]);
});

test('What became of a request that was forgotten meanwhile is kept nowhere', () => {
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
])('What somebody else wrote there is no history: %s', (value) => {
  const store = createStore();
  store.setItem('console-history', value);
  expect(readHistory(store)).toEqual([]);
});

test('A full store stops nobody', () => {
  const store = createStore(300);
  remember(store, request('/api/1'), AT);
  remember(store, request('/api/2', [], 'x'.repeat(300)), AT);
  expect(readHistory(store)).toEqual([]);
});

test('It can be forgotten', () => {
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

test('A full store keeps no older one', () => {
  const store = createStore(300);
  expect(keepDraft(store, usual)).toBe(true);
  expect(keepDraft(store, { ...usual, body: 'x'.repeat(300) })).toBe(false);
  expect(readDraft(store)).toBeNull();
});

test.each(['{', '5', 'null', '{"request":{"method":1},"isWhole":true}', JSON.stringify({ request: usual })])(
  'What somebody else wrote there is no draft: %s',
  (value) => {
    const store = createStore();
    store.setItem('console-draft', value);
    expect(readDraft(store)).toBeNull();
  },
);

const target = (query: [string, string][]) => toTarget({ ...usual, query }, ORIGIN);

test('Short values stand as they are sent', () => {
  expect(
    target([
      ['limit', '10'],
      ['find', 'é &'],
    ]),
  ).toBe('/api/public/v1/workspaces?limit=10&find=%C3%A9%20%26');
});

test('A page token is cut short in its middle, and so two of them can be told apart', () => {
  const token = (end: string) => `eyJsaW1pdCI6MTAsIm${'x'.repeat(100)}${end}`;
  expect(
    target([
      ['limit', '10'],
      ['next', token('one=')],
    ]),
  ).toBe('/api/public/v1/workspaces?limit=10&next=eyJsaW1p…xxxxone%3D');
  expect(target([['next', token('one')]])).not.toBe(target([['next', token('two')]]));
});

test('No escape is cut in two, and none counts thrice', () => {
  expect(target([['q', 'é'.repeat(20)]])).toMatch(/\?q=(?:%C3%A9){4}…(?:%C3%A9){4}$/);
  expect(target([['q', 'é'.repeat(12)]])).toMatch(/\?q=(?:%C3%A9){12}$/);
});

test('What is no address is shown as it was typed', () => {
  expect(toTarget({ ...usual, path: 'http://[' }, ORIGIN)).toBe('http://[');
});

test.each([
  [{ status: 200, end: 'whole' }, '200'],
  [{ status: 502, end: 'whole' }, '502'],
  [{ status: 200, end: 'broke-off' }, '200, broke off'],
  ['unreachable', 'no answer'],
  ['cancelled', 'cancelled'],
] as const)('An outcome is a status, or a word: %#', (outcome, words) => {
  expect(toOutcome(outcome)).toBe(words);
});
