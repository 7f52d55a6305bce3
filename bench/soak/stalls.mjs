/** So long Redis is waited for: who got no processor for that time gave up on it, though it had answered. */
const STALL_MS = 1_500;
const EVERY_MS = 100;

/** @typedef {{ from: number, to: number }} Stall In which a process got no processor, in ms since the epoch. */

/** Watches this very process; takes what was seen since it was last asked. */
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
