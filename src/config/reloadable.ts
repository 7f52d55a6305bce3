/** A value that may change while the process is running, such as a secret in a file. Read `current` at each use. */
export interface Reloadable<T> {
  readonly current: T;
}

/** Derives a value from a reloadable value, and derives it again after each change, which empties a derived cache. */
export function derive<T, Derived>(
  source: Reloadable<T>,
  toDerived: (value: T) => Derived,
): Reloadable<Derived> {
  let from = source.current;
  let derived = toDerived(from);
  return {
    get current() {
      const { current } = source;
      if (current !== from) {
        derived = toDerived(current);
        from = current;
      }
      return derived;
    },
  };
}
