/** Counts down to a point in time, in whole seconds. */
import { formatCount } from './counts.ts';

/**
 * Calls `onTick` with the remaining seconds, immediately and whenever they change. The last value is 0.
 * @param endsAt In ms by this browser's clock.
 * @returns Stops the countdown.
 */
export function countDown(endsAt: number, onTick: (secondsLeft: number) => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tick = () => {
    const leftMs = Math.max(0, endsAt - Date.now());
    if (leftMs > 0) timer = setTimeout(tick, leftMs % 1_000 || 1_000);
    onTick(Math.ceil(leftMs / 1_000));
  };
  tick();
  return () => clearTimeout(timer);
}

/** Formats a duration, such as “1 minute 40 seconds”. */
export function formatDuration(seconds: number) {
  const parts: [number, string][] = [
    [Math.floor(seconds / 60), 'minute'],
    [seconds % 60, 'second'],
  ];
  const words = parts.filter(([count]) => count > 0).map(([count, unit]) => formatCount(count, unit));
  return words.join(' ') || '0 seconds';
}
