/** The timeout for Redis commands. In a process that gets no CPU time for this long, commands time out even if Redis has replied. */
const STALL_MS = 1_500;
const CHECK_EVERY_MS = 100;

/** @typedef {{ from: number, to: number }} Stall a period in which a process got no CPU time, in ms since the epoch */

/** Watches this process for stalls. The returned function returns the stalls recorded so far and clears them. */
export function watchStalls() {
  /** @type {Stall[]} */
  let stalls = [];
  let last = Date.now();
  setInterval(() => {
    const now = Date.now();
    if (now - last - CHECK_EVERY_MS >= STALL_MS) stalls.push({ from: last, to: now });
    last = now;
  }, CHECK_EVERY_MS).unref();
  return () => {
    const taken = stalls;
    stalls = [];
    return taken;
  };
}
