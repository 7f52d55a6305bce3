import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises';

/** A promise with the functions that settle it, like the result of `Promise.withResolvers()`, which Node 20 lacks. */
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
 * Returns whether a promise resolves within `ms`. Rejects if the promise rejects. If the process stalls, the timer may fire before an
 * available result is read, so the function waits for one more turn of the event loop.
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

/**
 * Limits how many operations run at the same time. Further operations wait in order of arrival. The returned function resolves
 * with a slot, or with null if no slot becomes free within the given time (ms). The caller must dispose of the slot. The
 * gateway and the pages have their own concurrency limits, which also divide slots between sessions.
 */
export function createLimiter(limit: number): (withinMs: number) => Promise<Disposable | null> {
  let active = 0;
  const waiting = new Set<() => void>();
  const slot = {
    [Symbol.dispose]() {
      active -= 1;
      const [next] = waiting;
      next?.();
    },
  };
  return async (withinMs) => {
    if (active < limit) {
      active += 1;
      return slot;
    }
    return new Promise((resolve) => {
      const start = () => {
        clearTimeout(timeout);
        waiting.delete(start);
        active += 1;
        resolve(slot);
      };
      const timeout = setTimeout(() => {
        waiting.delete(start);
        resolve(null);
      }, withinMs);
      waiting.add(start);
    });
  };
}
