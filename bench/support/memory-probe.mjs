import { setTimeout as delay } from 'node:timers/promises';
import { onMeasuredCore } from './cores.mjs';
import { nodeCommand, startProcess } from './start-process.mjs';

/** Measurements at the start. They take 3 s, because disturbances of a shared machine last for seconds. */
const FIRST_MEASUREMENTS = 60;
const MEASURE_EVERY_MS = 50;

/** @typedef {Awaited<ReturnType<typeof startMemoryProbe>>} MemoryProbe */

/**
 * Starts a process that measures how fast the measured core can allocate. On shared hardware, other machines use caches and memory
 * without a trace in the steal time of Linux. A request then costs up to twice as much for some seconds, as does this allocation,
 * while a loop that only computes stays as fast.
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
    /** The shortest time of its work so far, in ms. Runs in which it differs are not comparable. */
    bestMs: () => bestMs,
    /** Resolves to the time of its work now, in ms. */
    measure,
    /**
     * How much slower than its best the slower of two measurements was; 0 is as fast as the best.
     * @param {number} before
     * @param {number} after
     */
    slowdown: (before, after) => Math.max(before, after) / bestMs - 1,
    stop: async () => probe.stop(),
  };
}
