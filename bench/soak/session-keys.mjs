import { randomBytes } from 'node:crypto';
import { createReadStream, statSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

const RELOAD_TIMEOUT_MS = 30_000;
/** The maximum number of keys in the file. Cloakroom accepts up to eight keys. */
const MAX_KEYS = 4;

/**
 * Returns the key lists to write one after the other to put a different key first. Keeps every key, because some sessions are idle for the
 * whole run. Once there are MAX_KEYS keys, moves the last key to the front.
 * @param {readonly string[]} keys
 * @param {() => string} createKey
 */
export function rotationSteps(keys, createKey) {
  if (keys.length < MAX_KEYS) {
    const newKey = createKey();
    return [
      [...keys, newKey],
      [newKey, ...keys],
    ];
  }
  return [[...keys.slice(-1), ...keys.slice(0, -1)]];
}

const createKey = () => randomBytes(32).toString('base64url');

/**
 * Creates the file for `SESSION_KEYS_FILE` and rotates its keys during the run.
 * @param {string} file
 * @param {string} firstKey
 * @param {string} log the log file of the processes
 */
export function createSessionKeys(file, firstKey, log) {
  /** @type {readonly string[]} */
  let keys = [firstKey];
  writeFileSync(file, firstKey);

  /**
   * Writes keys and makes the processes reload them. Resolves once all processes have logged the reload.
   * @param {readonly string[]} newKeys
   * @param {readonly number[]} pids
   */
  const reload = async (newKeys, pids) => {
    writeFileSync(file, newKeys.join(','));
    const { size } = statSync(log);
    for (const pid of pids) process.kill(pid, 'SIGHUP');
    const giveUpAt = performance.now() + RELOAD_TIMEOUT_MS;
    for (let reloaded = 0; reloaded < pids.length;) {
      if (performance.now() > giveUpAt) throw new Error('A process did not reload its session keys.');
      await delay(200);
      const lines = await text(createReadStream(log, { start: size }));
      reloaded = lines.split('"secrets reloaded"').length - 1;
    }
  };
  return {
    /**
     * Puts a different key first, following the steps in docs/secrets.md. Every process has the key before any process encrypts with it.
     * @param {readonly number[]} pids
     */
    async rotate(pids) {
      for (const newKeys of rotationSteps(keys, createKey)) {
        await reload(newKeys, pids);
        keys = newKeys;
      }
    },
  };
}
