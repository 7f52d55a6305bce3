import { appendFileSync } from 'node:fs';
import { join } from 'node:path';

/** A file of this name in LOG_AUDIT_FOLDER fails the run (./jest.mjs). */
export const OPEN_HANDLES = 'open-handles';

// Each process of jest loads this. Jest sends SIGTERM to a worker that it asked to end and that lives on: a test file has left
// something open in it.
const folder = process.env['LOG_AUDIT_FOLDER'];
if (folder !== undefined && process.argv[1]?.endsWith('/jest-worker/build/processChild.js') === true) {
  process.once('SIGTERM', () => {
    appendFileSync(join(folder, OPEN_HANDLES), `${process.getActiveResourcesInfo().join(', ')}\n`);
    process.kill(process.pid, 'SIGTERM');
  });
}
