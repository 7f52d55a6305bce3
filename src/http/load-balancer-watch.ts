import { setTimeout as delay } from 'node:timers/promises';
import { createDeferred, settlesWithin } from '../promises.ts';

/** What a process sees of a balancer: it asks at intervals whether the process is ready, and sends it calls. */
interface BalancerWatch {
  /** A call has come. */
  called(): void;
  /** A check has come. */
  checked(): void;
  /** A check was told that the process is not ready. */
  readonly told: () => void;
  /**
   * Resolves once a check has been told, if one is due, and no call has come for `quietMs`: those under way are here,
   * and others go elsewhere. At once where nobody checks regularly; at `atLatest`, by performance.now(), in any case.
   */
  untilGone(quietMs: number, atLatest: number): Promise<void>;
}

/** Who checks less often than this has no calls to send elsewhere. */
const CHECKS_WITHIN_MS = 11_000;
/** A check may be late by as much as the time between two. */
const MARGIN = 2;

/** Watches from now on. */
export function createBalancerWatch(): BalancerWatch {
  const told = createDeferred<void>();
  let calledAt = -Infinity;
  let checkedAt = -Infinity;
  // The longest time between two checks, the old ones forgotten bit by bit: two balancers check at odd intervals.
  let everyMs = 0;

  return {
    called() {
      calledAt = performance.now();
    },
    checked() {
      const now = performance.now();
      const gapMs = now - checkedAt;
      everyMs = gapMs > CHECKS_WITHIN_MS ? 0 : Math.max(gapMs, everyMs / 2);
      checkedAt = now;
    },
    told: told.resolve,
    async untilGone(quietMs, atLatest) {
      const dueBy = Math.min(checkedAt + MARGIN * everyMs, atLatest);
      if (dueBy <= performance.now()) return;
      await settlesWithin(told.promise, dueBy - performance.now());
      let quietAt = performance.now() + quietMs;
      while (performance.now() < Math.min(quietAt, atLatest)) {
        await delay(Math.min(quietAt, atLatest) - performance.now());
        quietAt = Math.max(quietAt, calledAt + quietMs);
      }
    },
  };
}
