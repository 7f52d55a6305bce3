import { setTimeout as delay } from 'node:timers/promises';
import { onMeasuredCore } from './cores.mjs';
import { nodeCommand, startProcess } from './start-process.mjs';

/** Looks at the start, and how far apart: what passes over a shared machine lasts for seconds. */
const FIRST_LOOKS = 60;
const LOOK_EVERY_MS = 50;

/** @typedef {Awaited<ReturnType<typeof startMemoryProbe>>} MemoryProbe */

/**
 * Tells how fast the measured core can allocate at the moment. On shared hardware others take caches and memory away without a
 * trace in the time that Linux counts as stolen: a call costs up to twice as much for some seconds, and this with it,
 * while a loop that only computes stays as it is.
 */
export async function startMemoryProbe() {
  const probe = startProcess(onMeasuredCore(nodeCommand('bench/support/memory-probe-process.mjs')), {});
  await probe.told();
  let bestMs = Infinity;
  const look = async () => {
    const ms = /** @type {number} */ (await probe.ask());
    bestMs = Math.min(bestMs, ms);
    return ms;
  };
  for (let turn = 0; turn < FIRST_LOOKS; turn++) {
    await look();
    await delay(LOOK_EVERY_MS);
  }
  return {
    /** How long its piece of work has taken at least, in ms: runs of which it differs met different machines. */
    bestMs: () => bestMs,
    /** Resolves with how long its piece of work takes now, in ms. */
    look,
    /**
     * Around some work: how much longer than ever its piece of work took at the slower of two looks; 0 is as fast as ever.
     * @param {number} before
     * @param {number} after
     */
    slowdown: (before, after) => Math.max(before, after) / bestMs - 1,
    stop: async () => probe.stop(),
  };
}
