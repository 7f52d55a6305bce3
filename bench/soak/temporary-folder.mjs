import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/**
 * Creates a folder for files that may hold session keys. If a signal ends this process, the folder is removed. Otherwise, the caller must
 * remove the folder.
 * @param {string} prefix
 */
export function temporaryFolder(prefix) {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  for (const signal of SIGNALS) {
    process.once(signal, () => {
      // Retry, because Redis exits a moment after this process and may still write to the folder.
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });
  }
  return folder;
}
