/** Rings at a moment, however far off, though a computer sleeps in between. */

/** A timer stands still while a computer sleeps: the clock is looked at this often. */
const LOOK_MS = 30_000;
const SOONEST_MS = 1_000;

/**
 * @param {() => void} ring
 */
export function createAlarm(ring) {
  let dueAt = Infinity;
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;

  const look = () => {
    const waitMs = dueAt - Date.now();
    if (waitMs > 0) timer = setTimeout(look, Math.min(waitMs, LOOK_MS));
    else ring();
  };
  const clear = () => {
    clearTimeout(timer);
    dueAt = Infinity;
  };

  return {
    clear,
    /**
     * In place of an earlier one; never sooner than in a second, whatever the clock says.
     * @param {number} at In ms by this browser's clock.
     */
    setTo(at) {
      clear();
      dueAt = Math.max(at, Date.now() + SOONEST_MS);
      look();
    },
  };
}
