import { setTimeout as delay } from 'node:timers/promises';
import { startStopwatch } from './stopwatch.ts';

/** Polls until `check` resolves with true. Rejects after `withinMs` of a stopwatch. For states that emit no event. */
export async function eventually(check: () => Promise<boolean>, withinMs = 30_000): Promise<void> {
  using watch = startStopwatch();
  while (!(await check())) {
    if (watch.ms() > withinMs) throw new Error('the condition was not met in time');
    await delay(20);
  }
}
