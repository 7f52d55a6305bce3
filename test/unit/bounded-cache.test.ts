import { expect, test } from '@jest/globals';
import { createBoundedCache } from '../../src/bounded-cache.ts';

test('beyond its limit, a cache drops the least recently used entry', () => {
  const cache = createBoundedCache<string>(2);
  cache.set('a', 'A');
  cache.set('b', 'B');
  cache.get('a');
  cache.set('c', 'C');
  expect([...cache.keys()].toSorted()).toEqual(['a', 'c']);
});
