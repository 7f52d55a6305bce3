import { pino } from 'pino';
import type { DestinationStream } from 'pino';

/** Where log lines go. */
export interface LogLines extends DestinationStream {
  /** Writes what is gathered, at once: for the end of the process. */
  flush(): void;
}

/** So much is written without waiting for the turn to end. */
const MOST_CHARACTERS = 8 * 1024;

/**
 * Lines on standard output (or `output`), those of one turn of the event loop in one write: to write each by itself costs
 * as much as to make it. What a process that is killed loses is its last turn.
 */
export function createGatheredLines(
  output: DestinationStream = pino.destination({ dest: 1, sync: true }),
): LogLines {
  let gathered = '';
  let isDue = false;
  const flush = () => {
    const text = gathered;
    gathered = '';
    if (text !== '') output.write(text);
  };
  const flushInTurn = () => {
    isDue = false;
    flush();
  };
  return {
    flush,
    write(line) {
      gathered += line;
      if (gathered.length >= MOST_CHARACTERS) flush();
      if (isDue) return;
      isDue = true;
      setImmediate(flushInTurn);
    },
  };
}
