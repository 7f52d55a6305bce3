import { openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Loaded into a Cloakroom process before the app, so that a test can move the process's clocks even while the process is stopped.
 * Timers, and the clocks of Redis and the service, are not affected.
 */
const skewsMs = new Float64Array(2);
const file = openSync(join(process.env['TMPDIR'] ?? '', 'clocks'), 'w+');
writeSync(file, skewsMs);
const skewAt = (/** @type {number} */ at) => {
  readSync(file, skewsMs, 0, skewsMs.byteLength, 0);
  return skewsMs[at] ?? 0;
};

const realDate = Date.now.bind(Date);
const realPerformance = performance.now.bind(performance);
Date.now = () => realDate() + skewAt(0);
performance.now = () => realPerformance() + skewAt(1);
