/** A timer that fires at a given time, however distant. */

/** Interval between readings of the clock, in ms. A single long timer would fire late, because timers stop while the computer sleeps. */
const READ_CLOCK_MS = 30_000;
const SOONEST_MS = 1_000;

/** Creates an alarm that calls `onDue` once the set time has come. `onDue` may run late, but at most READ_CLOCK_MS after the computer wakes. */
export function createAlarm(onDue: () => void) {
  let dueAt = Infinity;
  let timer: ReturnType<typeof setTimeout> | undefined;

  const readClock = () => {
    const waitMs = dueAt - Date.now();
    if (waitMs > 0) timer = setTimeout(readClock, Math.min(waitMs, READ_CLOCK_MS));
    else onDue();
  };
  const clear = () => {
    clearTimeout(timer);
    dueAt = Infinity;
  };

  return {
    clear,
    /**
     * Sets the alarm, replacing any earlier time. The alarm fires after one second at the earliest.
     * @param at In ms, by this browser's clock.
     */
    setTo(at: number) {
      clear();
      dueAt = Math.max(at, Date.now() + SOONEST_MS);
      readClock();
    },
  };
}
