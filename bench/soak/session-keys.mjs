import { randomBytes } from 'node:crypto';
import { createReadStream, statSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';

const WITHIN_MS = 30_000;
/** The most session keys in use; Cloakroom accepts eight. */
const MOST_KEYS = 4;

/**
 * Returns the steps, as contents of the file, that make another key the first. No key is dropped, because some sessions are idle
 * for the whole run. Once there are enough keys, the oldest one is used again.
 * @param {readonly string[]} keys
 * @param {() => string} make
 */
export function replacement(keys, make) {
  if (keys.length < MOST_KEYS) {
    const fresh = make();
    return [
      [...keys, fresh],
      [fresh, ...keys],
    ];
  }
  return [[...keys.slice(-1), ...keys.slice(0, -1)]];
}

const newKey = () => randomBytes(32).toString('base64url');

/**
 * Creates the file of `SESSION_KEYS_FILE`, and changes its keys during the run.
 * @param {string} file
 * @param {string} first key
 * @param {string} log that the processes write
 */
export function createSessionKeys(file, first, log) {
  /** @type {readonly string[]} */
  let keys = [first];
  writeFileSync(file, first);

  /**
   * Makes processes read the file again. Resolves once the log says that all have.
   * @param {readonly string[]} content
   * @param {readonly number[]} pids
   */
  const tell = async (content, pids) => {
    writeFileSync(file, content.join(','));
    const { size } = statSync(log);
    for (const pid of pids) process.kill(pid, 'SIGHUP');
    const giveUpAt = performance.now() + WITHIN_MS;
    for (let said = 0; said < pids.length;) {
      if (performance.now() > giveUpAt) throw new Error('a process did not read its keys again');
      await delay(200);
      const lines = await text(createReadStream(log, { start: size }));
      said = lines.split('"secrets reloaded"').length - 1;
    }
  };
  return {
    /**
     * Puts another key first, in the steps that operators are told: all know it before anyone encrypts with it.
     * @param {readonly number[]} pids
     */
    async replace(pids) {
      for (const content of replacement(keys, newKey)) {
        await tell(content, pids);
        keys = content;
      }
    },
  };
}
