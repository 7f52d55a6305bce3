import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';

/**
 * Whether a promise settles within `ms`; rejects where it does. Nothing is left running for the wait. Where it was we who were held
 * up, what it waits for may be here: that is read first.
 */
export async function settlesWithin(promise: PromiseLike<unknown>, ms: number): Promise<boolean> {
  const waiting = new AbortController();
  const { signal } = waiting;
  const tooLate = delay(Math.max(0, ms), false, { signal })
    .then(async (late) => turn(late, { signal }))
    .catch(() => false);
  try {
    return await Promise.race([promise.then(() => true), tooLate]);
  } finally {
    waiting.abort();
  }
}

/** Up to 100 ms, ready-made: to write a fraction costs as much as all else of a line or a header. */
const TENTHS = Array.from({ length: 1_001 }, (_, at) => String(at / 10));

/** Milliseconds to a tenth, as text. */
export function tenths(ms: number): string {
  const at = Math.round(ms * 10);
  return TENTHS[at] ?? String(at / 10);
}

/** A time to wait as a person says it, from whole seconds: “a second”, “45 seconds”, “4 minutes”. */
export function inWords(seconds: number): string {
  if (seconds === 1) return 'a second';
  return seconds < 90 ? `${seconds} seconds` : `${Math.ceil(seconds / 60)} minutes`;
}
