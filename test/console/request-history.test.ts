import { expect, test } from '@jest/globals';
import { forgetHistory, readHistory, remember } from '../../public/console/request-history.js';

/** As much of a tab's storage as is used; full from `most` characters on. */
function createStore(most = Infinity) {
  const values = new Map<string, string>();
  return {
    values,
    getItem: (key: string) => values.get(key) ?? null,
    setItem(key: string, value: string) {
      if (value.length > most) throw new Error('QuotaExceededError');
      values.set(key, value);
    },
    removeItem: (key: string) => void values.delete(key),
  };
}

const request = (path: string, headers: [string, string][] = [], body = '') => ({
  ...{ method: 'POST', path, query: [] as [string, string][], headers, contentType: 'text/plain', body },
});

test('The latest request stands first, and each once', () => {
  const store = createStore();
  for (const path of ['/api/1', '/api/2', '/api/1']) remember(store, request(path));
  expect(readHistory(store).map(({ path }) => path)).toEqual(['/api/1', '/api/2']);
});

test('Fifty are kept', () => {
  const store = createStore();
  for (let at = 0; at < 60; at += 1) remember(store, request(`/api/${at}`));
  expect(readHistory(store)).toHaveLength(50);
  expect(readHistory(store)[0]?.path).toBe('/api/59');
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
  );
  expect([...store.values.values()].join()).not.toContain('secret');
  expect(readHistory(store)[0]?.headers).toEqual([['Accept', '*/*']]);
});

test('A long body is left out', () => {
  const store = createStore();
  remember(store, request('/api/1', [], 'x'.repeat(20_001)));
  expect(readHistory(store)[0]?.body).toBe('');
});

test('What somebody else wrote there is no history', () => {
  const store = createStore();
  for (const value of ['{', '5', 'null', '[null, {"method":"GET"}, {"method":1}]']) {
    store.setItem('console-history', value);
    expect(readHistory(store)).toEqual([]);
  }
});

test('A full store stops nobody', () => {
  const store = createStore(300);
  remember(store, request('/api/1'));
  remember(store, request('/api/2', [], 'x'.repeat(300)));
  expect(readHistory(store)).toEqual([]);
});

test('It can be forgotten', () => {
  const store = createStore();
  remember(store, request('/api/1'));
  forgetHistory(store);
  expect(store.values.size).toBe(0);
});
