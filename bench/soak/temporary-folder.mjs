import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/**
 * A folder that goes with this process where a signal ends that, Ctrl-C above all: there are session keys in it. At any other end
 * it is for who made it to remove.
 * @param {string} prefix
 */
export function temporaryFolder(prefix) {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  for (const signal of SIGNALS) {
    process.once(signal, () => {
      // Redis may be writing into it; it ends a moment after us.
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });
  }
  return folder;
}
