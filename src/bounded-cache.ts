import { LRUCache } from 'lru-cache';

/**
 * Creates a cache that drops the least recently used entry once it has more than `maxEntries`. lru-cache's option `max` would allocate
 * arrays for that many entries at once, so this limits the total size, with a size of 1 for each entry.
 */
export function createBoundedCache<V extends object | string>(maxEntries: number): LRUCache<string, V> {
  return new LRUCache<string, V>({ maxSize: maxEntries, sizeCalculation: () => 1 });
}
