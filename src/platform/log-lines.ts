import { pino } from 'pino';
import type { DestinationStream } from 'pino';

/** Where log lines go. */
export interface LogLines extends DestinationStream {
  /** Writes what is gathered, at once: for the end of the process. */
  flush(): void;
}

/** So much is written without waiting for the turn to end. */
const MOST_BYTES = 8 * 1024;

/**
 * Lines on standard output, those of one turn of the event loop in one write: to write each by itself would cost as
 * much as a third of a proxied call. What a process that is killed loses is its last turn.
 */
export function createGatheredLines(): LogLines {
  const output = pino.destination({ dest: 1, sync: true, minLength: MOST_BYTES });
  let isDue = false;
  const flush = () => {
    isDue = false;
    output.flushSync();
  };
  return {
    flush,
    write(line) {
      output.write(line);
      if (isDue) return;
      isDue = true;
      setImmediate(flush);
    },
  };
}
