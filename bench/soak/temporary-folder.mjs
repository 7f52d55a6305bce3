import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/**
 * Creates a folder that is removed if a signal ends this process, because session keys are in it. At any other end the caller
 * removes it.
 * @param {string} prefix
 */
export function temporaryFolder(prefix) {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  for (const signal of SIGNALS) {
    process.once(signal, () => {
      // Redis may still write into it; it ends a moment after this process.
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });
  }
  return folder;
}
