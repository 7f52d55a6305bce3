/** A renewal may wait so long beyond one call of the token endpoint: for its own waits, and for another process that holds the lock and crashes. */
export const WAIT_BEYOND_TOKEN_TIMEOUT_MS = 12_000;

/** Of a token's life, the longest time before its end at which it is renewed in the background; in the unit of `life`. */
export function longestAhead(life: number): number {
  return life / 3;
}
