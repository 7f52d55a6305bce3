import { setTimeout as delay } from 'node:timers/promises';
import { startStopwatch } from './stopwatch.ts';

/** Polls until `check` resolves with true, for state changes that emit no event. Rejects once a stopwatch exceeds `withinMs`. */
export async function eventually(check: () => Promise<boolean>, withinMs = 30_000): Promise<void> {
  using watch = startStopwatch();
  while (!(await check())) {
    if (watch.ms() > withinMs) throw new Error('the condition was not met in time');
    await delay(20);
  }
}
