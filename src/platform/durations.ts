import { setTimeout as delay } from 'node:timers/promises';

/** Whether a promise settles within `ms`; rejects where it does. Nothing is left running for the wait. */
export async function settlesWithin(promise: PromiseLike<unknown>, ms: number): Promise<boolean> {
  const waiting = new AbortController();
  const tooLate = delay(Math.max(0, ms), false, { signal: waiting.signal }).catch(() => false);
  try {
    return await Promise.race([promise.then(() => true), tooLate]);
  } finally {
    waiting.abort();
  }
}
