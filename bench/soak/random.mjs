/**
 * Creates a random generator (mulberry32). With the same seed, each user makes the same choices. Outcomes still depend on the speed
 * of the machine.
 * @param {number} seed
 */
export function createRandom(seed) {
  let state = seed | 0;
  const next = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  /**
   * Returns a number from `from` up to but excluding `to`.
   * @param {number} from
   * @param {number} to
   */
  const between = (from, to) => from + next() * (to - from);
  /** @template T @param {readonly T[]} list @returns {T} */
  const pick = (list) => /** @type {T} */ (list[Math.floor(next() * list.length)]);
  /** @template T @param {readonly T[]} list */
  const shuffle = (list) =>
    list
      .map((item) => ({ item, at: next() }))
      .toSorted((a, b) => a.at - b.at)
      .map(({ item }) => item);
  return {
    between,
    pick,
    shuffle,
    /** @param {number} probability */
    chance: (probability) => next() < probability,
    /** Creates another generator, so that concurrent users do not affect each other's sequences. */
    fork: () => createRandom(next() * 2 ** 32),
  };
}

/** @typedef {ReturnType<typeof createRandom>} Random */
