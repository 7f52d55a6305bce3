import { setTimeout as delay } from 'node:timers/promises';
import { onMeasuredCore } from './cores.mjs';
import { nodeCommand, startProcess } from './start-process.mjs';

/** Initial measurements. They take 3 s, because disturbances of a shared machine last for seconds. */
const FIRST_MEASUREMENTS = 60;
const MEASURE_EVERY_MS = 50;

/** @typedef {Awaited<ReturnType<typeof startMemoryProbe>>} MemoryProbe */

/**
 * Starts a process that measures how fast the measured core can allocate memory. On shared hardware, other machines use caches and
 * memory bandwidth, which Linux does not count as steal time. For some seconds, a request and this allocation then cost up to twice
 * as much. A loop that only computes does not slow down.
 */
export async function startMemoryProbe() {
  const probe = startProcess(onMeasuredCore(nodeCommand('bench/support/memory-probe-process.mjs')), {});
  await probe.nextMessage();
  let bestMs = Infinity;
  const measure = async () => {
    const ms = /** @type {number} */ (await probe.ask());
    bestMs = Math.min(bestMs, ms);
    return ms;
  };
  for (let turn = 0; turn < FIRST_MEASUREMENTS; turn++) {
    await measure();
    await delay(MEASURE_EVERY_MS);
  }
  return {
    /** Returns the shortest time so far, in ms. Runs with different values are not comparable. */
    bestMs: () => bestMs,
    /** Allocates memory. Resolves to the time that it took, in ms. */
    measure,
    /**
     * Returns how much slower the slower of two measurements was than the best: 0 if it was as fast, 1 if it took twice the time.
     * @param {number} before
     * @param {number} after
     */
    slowdown: (before, after) => Math.max(before, after) / bestMs - 1,
    stop: async () => probe.stop(),
  };
}
