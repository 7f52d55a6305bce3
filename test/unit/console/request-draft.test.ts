import { expect, test } from '@jest/globals';
import { forgetDraft, keepDraft, readDraft } from '../../../public/console/request-draft.js';
import { createStore } from './tab-store.ts';
import { usual } from './usual-request.ts';

test('The last that stood in the form is kept, until it is forgotten', () => {
  const store = createStore();
  expect(readDraft(store)).toBeNull();
  for (const path of ['/api/1', '/api/2']) keepDraft(store, { ...usual, path });
  expect(readDraft(store)).toEqual({ request: { ...usual, path: '/api/2' }, isWhole: true });
  forgetDraft(store);
  expect(store.values.size).toBe(0);
});

test('Never with a credential', () => {
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

test('A long body is left out, which is known of it', () => {
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
