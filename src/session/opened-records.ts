import type { Logger } from '../platform/log.ts';
import { parseRecord } from './record.ts';
import type { SessionRecord } from './record.ts';
import type { Sealer } from './sealing.ts';

interface Opened {
  readonly sealed: string;
  readonly record: SessionRecord;
  readonly current: boolean;
}

/** Opens sealed records, and remembers the most recently used by their exact sealed bytes. */
export interface OpenedRecords {
  /** Null, and a line in the log, where the value was moved, cut, changed or sealed under an unknown key. */
  open(sealed: string, id: string, key: string): Opened | null;
  /** Drops what is remembered of a session that ends. */
  forget(key: string): void;
}

/** 1 to 5 kB each, by the length of the tokens: at most some 50 MB. */
const REMEMBERED = 10_000;

/**
 * Opening costs as much CPU as the rest of a proxied call. An entry counts only for the same key and the same
 * bytes: the key is a hash of the id, so a value copied to another session's key is opened, and refused, as new.
 */
export function createOpenedRecords(sealer: Sealer, log: Logger): OpenedRecords {
  const remembered = new Map<string, Opened>();

  const remember = (key: string, opened: Opened) => {
    remembered.delete(key);
    remembered.set(key, opened);
    const [oldest] = remembered.keys();
    if (remembered.size > REMEMBERED && oldest !== undefined) remembered.delete(oldest);
  };

  return {
    open(sealed, id, key) {
      const known = remembered.get(key);
      if (known?.sealed === sealed) {
        remember(key, known);
        return known;
      }
      const plain = sealer.open(sealed, id, key);
      const record = plain === null ? null : parseRecord(plain.text);
      if (plain === null || record === null) {
        log.warn({ key }, 'session value refused');
        return null;
      }
      const opened = { sealed, record, current: plain.current };
      remember(key, opened);
      return opened;
    },
    forget: (key) => void remembered.delete(key),
  };
}
