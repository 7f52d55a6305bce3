import { setTimeout as delay } from 'node:timers/promises';
import { createFaults, DURATION_MS } from './faults.mjs';

/** @typedef {import('./deployment.mjs').TestApp} TestApp */
/** @typedef {import('./results.mjs').Results} Results */
/** @typedef {import('./faults.mjs').Fault} Fault */
/** @typedef {import('./random.mjs').Random} Random */

/** Range of the random time between a recovery and the next fault, in ms. */
const PAUSE_MS = /** @type {const} */ ([2_000, 6_000]);

/**
 * Creates the fault schedule for a run, with one fault after another in random order.
 * @param {TestApp} testApp
 * @param {Results} results
 * @param {Random} random
 * @param {number} ms the duration of the run
 */
export function createFaultSchedule(testApp, results, random, ms) {
  const halfTime = performance.now() + ms / 2;
  const end = performance.now() + ms;
  const faults = createFaults(() => performance.now() > halfTime);
  const counts = new Map(faults.map(({ name }) => [name, 0]));
  return {
    /** The number of times that each fault has occurred. */
    counts,
    /** Causes faults. Resolves once there is no time left for another fault. */
    async run() {
      for (;;) {
        for (const fault of random.shuffle(faults)) {
          const neededMs = PAUSE_MS[1] + (fault.durationMs ?? DURATION_MS) + fault.recoveryMs;
          if (performance.now() + neededMs > end) return;
          await delay(random.between(...PAUSE_MS));
          await cause(fault, testApp, results);
          counts.set(fault.name, (counts.get(fault.name) ?? 0) + 1);
        }
      }
    },
  };
}

/**
 * Causes a fault and ends it. Resolves after the time allowed for recovery.
 * @param {Fault} fault
 * @param {TestApp} testApp
 * @param {Results} results
 */
async function cause(
  { name, explains, losesTokens, recoveryMs, begin, durationMs = 0, end },
  testApp,
  results,
) {
  const window = results.openWindow(name, explains, { losesTokens });
  await begin(testApp);
  await delay(durationMs);
  await end?.(testApp);
  window.to = performance.now() + recoveryMs;
  await delay(recoveryMs);
}
