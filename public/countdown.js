/** Counts down to a point in time, in whole seconds. */
import { formatCount } from './counts.js';

/**
 * Calls `onTick` with the remaining seconds, immediately and whenever they change. The last value is 0.
 * @param {number} endsAt In ms by this browser's clock.
 * @param {(secondsLeft: number) => void} onTick
 * @returns {() => void} Stops the countdown.
 */
export function countDown(endsAt, onTick) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  const tick = () => {
    const leftMs = Math.max(0, endsAt - Date.now());
    if (leftMs > 0) timer = setTimeout(tick, leftMs % 1_000 || 1_000);
    onTick(Math.ceil(leftMs / 1_000));
  };
  tick();
  return () => clearTimeout(timer);
}

/**
 * Formats a duration, such as “1 minute 40 seconds”.
 * @param {number} seconds
 */
export function formatDuration(seconds) {
  /** @type {[number, string][]} */
  const parts = [
    [Math.floor(seconds / 60), 'minute'],
    [seconds % 60, 'second'],
  ];
  const words = parts.filter(([count]) => count > 0).map(([count, unit]) => formatCount(count, unit));
  return words.join(' ') || '0 seconds';
}
