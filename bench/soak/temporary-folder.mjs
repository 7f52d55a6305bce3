import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/**
 * Creates a folder for files that may hold session keys. A signal that ends this process also removes the folder. Otherwise the
 * caller removes it.
 * @param {string} prefix
 */
export function temporaryFolder(prefix) {
  const folder = mkdtempSync(join(tmpdir(), prefix));
  for (const signal of SIGNALS) {
    process.once(signal, () => {
      // Retry: Redis ends a moment after this process and may still write into the folder.
      rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
      if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
    });
  }
  return folder;
}
