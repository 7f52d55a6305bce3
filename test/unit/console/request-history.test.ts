import { expect, test } from '@jest/globals';
import {
  forgetHistory,
  noteOutcome,
  readHistory,
  remember,
} from '../../../public/console/request-history.js';
import { createStore } from './tab-store.ts';

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
