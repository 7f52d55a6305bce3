/** Values by key, of which the most recently used are kept: never more than a number. */
export interface RecentValues<K, V> {
  get(key: K): V | undefined;
  set(key: K, value: V): void;
  delete(key: K): void;
}

/**
 * Keeps the `most` / 2 values used last, and at most `most`. Two generations, of which the older one is dropped whole:
 * a list in the order of use would have to be written on each reading.
 */
export function createRecentValues<K, V>(most: number): RecentValues<K, V> {
  let young = new Map<K, V>();
  let old = new Map<K, V>();

  const set = (key: K, value: V) => {
    old.delete(key);
    young.set(key, value);
    if (young.size * 2 < most) return;
    old = young;
    young = new Map();
  };

  return {
    set,
    get(key) {
      const value = young.get(key);
      if (value !== undefined) return value;
      const older = old.get(key);
      if (older !== undefined) set(key, older);
      return older;
    },
    delete(key) {
      young.delete(key);
      old.delete(key);
    },
  };
}
