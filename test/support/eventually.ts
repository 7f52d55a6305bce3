import { setTimeout as delay } from 'node:timers/promises';
import { startStopwatch } from './stopwatch.ts';

/** Resolves once `check` resolves with true; rejects after `withinMs` of a stopwatch. For states that no event announces. */
export async function eventually(check: () => Promise<boolean>, withinMs = 30_000): Promise<void> {
  using watch = startStopwatch();
  while (!(await check())) {
    if (watch.ms() > withinMs) throw new Error('the condition was not met in time');
    await delay(20);
  }
}
