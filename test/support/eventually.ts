import { setTimeout as delay } from 'node:timers/promises';
import { startStopwatch } from './stopwatch.ts';

/**
 * Resolves once `check` gives true; rejects after `withinMs`, by a stopwatch. For what no event tells, such as a foreign process.
 */
export async function eventually(check: () => Promise<boolean>, withinMs = 30_000): Promise<void> {
  using watch = startStopwatch();
  while (!(await check())) {
    if (watch.ms() > withinMs) throw new Error('it did not come true in time');
    await delay(20);
  }
}
