import { appendFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

/** Begins the name of a file in LOG_AUDIT_FOLDER that a worker of Jest writes and, when it ends by itself, removes. */
export const WORKER_FILE = 'jest-worker-';

// Each process of Jest loads this. Jest kills a worker that it asked to end and that lives on: a test file has left something open in
// it, which the worker still tells where it can.
const folder = process.env['LOG_AUDIT_FOLDER'];
if (folder !== undefined && process.argv[1]?.endsWith('/jest-worker/build/processChild.js') === true) {
  const file = join(folder, `${WORKER_FILE}${process.pid}`);
  writeFileSync(file, '');
  process.once('exit', () => rmSync(file, { force: true }));
  process.once('SIGTERM', () => {
    appendFileSync(file, `Open: ${process.getActiveResourcesInfo().join(', ')}\n`);
    process.kill(process.pid, 'SIGTERM');
  });
}
