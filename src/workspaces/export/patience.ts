import { AppError } from '../../errors.ts';

/** Waits; rejects at once when the signal is aborted. */
export type Wait = (ms: number, signal: AbortSignal) => Promise<unknown>;

/** A reader hears nothing meanwhile, and balancers cut off who is silent for two minutes (docs/operations.md). */
const LONGEST_WAIT_MS = 100_000;
const MOST_TRIES = 10;

/**
 * Does something again that failed for the moment only: too many calls, the token endpoint or Redis away. It is done when
 * the error says it may be (`retry-after`), and given up where that takes more than 100 s or ten tries.
 */
export async function withPatience<T>(task: () => Promise<T>, wait: Wait, signal: AbortSignal): Promise<T> {
  for (let tries = 1, waitedMs = 0; ; tries += 1) {
    try {
      return await task();
    } catch (error) {
      const pauseMs = toPauseMs(error);
      waitedMs += pauseMs;
      if (tries >= MOST_TRIES || waitedMs > LONGEST_WAIT_MS) throw error;
      await wait(pauseMs, signal);
    }
  }
}

/** Infinity where nothing is said of another time. */
function toPauseMs(error: unknown): number {
  if (!(error instanceof AppError) || error.status !== 503) return Infinity;
  return (error.retryAfterSeconds ?? Infinity) * 1_000;
}
