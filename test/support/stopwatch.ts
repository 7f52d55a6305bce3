/** How often the clock looks at the time, and the longest that it lets pass between two looks, ms. */
const TICK_MS = 10;
const LONGEST_TICK_MS = 20;

let elapsedMs = 0;
let lookedAt = 0;
let running = 0;
let timer: NodeJS.Timeout | undefined;

function tick(): void {
  const now = performance.now();
  elapsedMs += Math.min(now - lookedAt, LONGEST_TICK_MS);
  lookedAt = now;
}

/** Counts from now on until it is disposed of. */
export interface Stopwatch extends Disposable {
  ms(): number;
}

/**
 * Counts the time that this process has had, in ms. On a machine with cores to spare that is the time on the wall. Where others want
 * the cores, or a virtual machine stands still, a while in which nothing ran here counts for next to nothing: nothing of what is timed
 * got on then, either. So a test may hold an answer to the time it has in a contract, wherever it runs.
 */
export function startStopwatch(): Stopwatch {
  if (running++ === 0) {
    lookedAt = performance.now();
    timer = setInterval(tick, TICK_MS).unref();
  }
  tick();
  const from = elapsedMs;
  return {
    ms: () => {
      tick();
      return elapsedMs - from;
    },
    [Symbol.dispose]: () => {
      running -= 1;
      if (running === 0) clearInterval(timer);
    },
  };
}
