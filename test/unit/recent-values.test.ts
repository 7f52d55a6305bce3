import { expect, test } from '@jest/globals';
import { createRecentValues } from '../../src/recent-values.ts';

test('what was used last is kept, and never more than the number', () => {
  const values = createRecentValues<number, string>(10);
  for (let key = 0; key < 100; key += 1) {
    values.set(key, `value ${key}`);
    values.get(0); // used all the time
  }
  const kept = Array.from({ length: 100 }, (_, key) => key).filter((key) => values.get(key) !== undefined);
  expect(kept).toContain(0);
  expect(kept).toContain(99);
  expect(kept.length).toBeLessThanOrEqual(10);
  expect(values.get(99)).toBe('value 99');
});

test('what is set again or deleted is so in both generations', () => {
  const values = createRecentValues<string, number>(4);
  values.set('a', 1);
  values.set('b', 2); // both are the older ones now
  values.set('a', 3);
  expect(values.get('a')).toBe(3);
  values.delete('a');
  values.delete('b');
  expect(values.get('a')).toBeUndefined();
  expect(values.get('b')).toBeUndefined();
});
