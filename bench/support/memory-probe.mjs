import { setTimeout as delay } from 'node:timers/promises';
import { onMeasuredCore } from './cores.mjs';
import { nodeCommand, startProcess } from './start-process.mjs';

/** Number of initial measurements, which take 3 s, because disturbances on a shared machine last for seconds. */
const FIRST_MEASUREMENTS = 60;
const MEASURE_EVERY_MS = 50;

/** @typedef {Awaited<ReturnType<typeof startMemoryProbe>>} MemoryProbe */

/**
 * Starts a process that measures how fast programs on the measured core can allocate memory. On shared hardware, other virtual machines
 * compete for caches and memory bandwidth. Linux does not count the resulting delays as steal time. Both requests and allocations sometimes
 * take up to twice as long for a few seconds. A loop that only computes does not slow down.
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
    /** Returns the shortest time so far, in ms. If this time differs between two runs, the results of the runs are not comparable. */
    bestMs: () => bestMs,
    /** Allocates memory. Resolves to the time taken, in ms. */
    measure,
    /**
     * Compares the slower of two measurements with the best. Returns 0 if both took the same time, and 1 if the slower took twice as long.
     * @param {number} before
     * @param {number} after
     */
    slowdown: (before, after) => Math.max(before, after) / bestMs - 1,
    stop: async () => probe.stop(),
  };
}
