/** The interval between clock readings, and the maximum time counted for each interval, in ms. */
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

/** A stopwatch that runs until it is disposed of. */
export interface Stopwatch extends Disposable {
  ms(): number;
}

/**
 * Counts the time in ms during which this process runs. On an idle machine, the count is the elapsed time. The count hardly
 * advances while other processes use the cores or the virtual machine is paused. Tests can therefore check limits on any machine.
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
