/** The Redis timeout. A process without CPU time for so long gives up on Redis, although it has responded. */
const STALL_MS = 1_500;
const EVERY_MS = 100;

/** @typedef {{ from: number, to: number }} Stall a time without CPU time for a process, in ms since the epoch */

/** Watches this process for stalls. */
export function watchStalls() {
  /** @type {Stall[]} */
  let seen = [];
  let last = Date.now();
  setInterval(() => {
    const now = Date.now();
    if (now - last - EVERY_MS >= STALL_MS) seen.push({ from: last, to: now });
    last = now;
  }, EVERY_MS).unref();
  return () => {
    const taken = seen;
    seen = [];
    return taken;
  };
}
