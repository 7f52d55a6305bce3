/** A timer for a moment of the clock, however far off. */

/** Timers stand still while the computer sleeps, so the alarm reads the clock this often. */
const READ_CLOCK_MS = 30_000;
const SOONEST_MS = 1_000;

/** @param {() => void} ring */
export function createAlarm(ring) {
  let dueAt = Infinity;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  const readClock = () => {
    const waitMs = dueAt - Date.now();
    if (waitMs > 0) timer = setTimeout(readClock, Math.min(waitMs, READ_CLOCK_MS));
    else ring();
  };
  const clear = () => {
    clearTimeout(timer);
    dueAt = Infinity;
  };

  return {
    clear,
    /**
     * Sets the alarm, in place of an earlier moment. It rings in a second at the earliest.
     * @param {number} at In ms by this browser's clock.
     */
    setTo(at) {
      clear();
      dueAt = Math.max(at, Date.now() + SOONEST_MS);
      readClock();
    },
  };
}
