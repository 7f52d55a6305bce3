import { appendFileSync } from 'node:fs';
import { subscribe } from 'node:diagnostics_channel';
import { join } from 'node:path';

/** Prefix of the files in LOG_AUDIT_FOLDER that report the Jest workers ended by a signal. */
export const KILLED_WORKER_FILE = 'jest-killed-worker-';

const WORKER = '/jest-worker/build/processChild.js';

// Each Jest process preloads this module. Jest kills a worker that does not exit because a test file left handles open.
const folder = process.env['LOG_AUDIT_FOLDER'];
if (folder !== undefined) {
  const fileOf = (/** @type {number | undefined} */ pid) => join(folder, `${KILLED_WORKER_FILE}${pid}`);
  // On SIGTERM, a worker lists its open handles, unless its event loop is blocked.
  if (process.argv[1]?.endsWith(WORKER) === true) {
    process.once('SIGTERM', () => {
      appendFileSync(fileOf(process.pid), `Open: ${process.getActiveResourcesInfo().join(', ')}\n`);
      process.kill(process.pid, 'SIGTERM');
    });
  }
  subscribe('child_process', (message) => {
    const { process: child } = /** @type {{ process: import('node:child_process').ChildProcess }} */ (
      message
    );
    child.once('exit', (_, signal) => {
      const isWorker = child.spawnargs.some((arg) => arg.endsWith(WORKER));
      if (isWorker && signal !== null) appendFileSync(fileOf(child.pid), `Ended by ${signal}.\n`);
    });
  });
}
