/**
 * A number below `bound` that follows from `seed` and `purpose` alone but looks like chance (FNV-1a, then the
 * finish of MurmurHash3): the same workspace has the same rooms in every process and after every restart.
 */
export function mix(seed: number | string, purpose: string, bound: number): number {
  let hash = 0x811c9dc5;
  for (const byte of Buffer.from(`${purpose}:${seed}`)) hash = Math.imul(hash ^ byte, 0x01000193);
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return ((hash ^ (hash >>> 16)) >>> 0) % bound;
}

/** One of the choices, by `mix`. Throws a RangeError where there are none. */
export function mixedChoice<T>(seed: number | string, purpose: string, choices: readonly T[]): T {
  return choiceAt(choices, mix(seed, purpose, choices.length));
}

/** The choice at `index`, around and around. Throws a RangeError where there are none. */
export function choiceAt<T>(choices: readonly T[], index: number): T {
  const choice = choices[index % choices.length];
  if (choice === undefined) throw new RangeError('There is nothing to choose from.');
  return choice;
}
