/** A value that may be another one the next time it is looked at, such as a secret whose file was changed. */
export interface Reloadable<T> {
  readonly current: T;
}

/**
 * What is made from a changing value: made once, and anew when the value is another one. Whatever is kept in it (what was
 * remembered under a key, say) goes with the value that it was made from.
 */
export function derive<T, Made>(source: Reloadable<T>, make: (value: T) => Made): Reloadable<Made> {
  let from = source.current;
  let made = make(from);
  return {
    get current() {
      const { current } = source;
      if (current !== from) {
        made = make(current);
        from = current;
      }
      return made;
    },
  };
}
