import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises';

/** A promise and the functions that settle it: `Promise.withResolvers()`, which Node 20 does not have. */
export interface Deferred<T> {
  readonly promise: Promise<T>;
  readonly resolve: (value: T) => void;
  readonly reject: (error: Error) => void;
}

export function createDeferred<T>(): Deferred<T> {
  let resolve: Deferred<T>['resolve'] = () => {};
  let reject: Deferred<T>['reject'] = () => {};
  const promise = new Promise<T>((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}

/**
 * Whether a promise resolves within `ms`; rejects where it does. Leaves no timer running. After a stall of this process the
 * timer fires first although the result has arrived: one turn of the event loop reads it.
 */
export async function settlesWithin(promise: PromiseLike<unknown>, ms: number): Promise<boolean> {
  const waiting = new AbortController();
  const { signal } = waiting;
  const timedOut = delay(Math.max(0, ms), false, { signal })
    .then(async (result) => immediate(result, { signal }))
    .catch(() => false);
  try {
    return await Promise.race([promise.then(() => true), timedOut]);
  } finally {
    waiting.abort();
  }
}
