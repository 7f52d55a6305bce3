import { LRUCache } from 'lru-cache';
import { derive } from '../config/reloadable.ts';
import type { Logger } from '../observability/logger.ts';
import type { RequestContext } from '../http/request-context.ts';
import { parseRecord } from './record.ts';
import type { Session } from './record.ts';
import type { Encryption } from './encryption.ts';
import { toSessionMembers } from './events.ts';

interface Opened {
  readonly ticket: Session;
  readonly current: boolean;
}

/** Opens encrypted store, and remembers the most recently used by their exact encrypted bytes. */
export interface DecryptedRecords {
  /** Where the session of an id stands in Redis. */
  keyOf(id: string): string;
  /** Null, and a line in the log, where the value was moved, cut, changed or encrypted under an unknown key. */
  open(encrypted: string, id: string, by?: RequestContext): Opened | null;
  /** Drops what is remembered of a session that ends. */
  forget(id: string): void;
}

interface Remembered {
  readonly key: string;
  opened: Opened;
}

/** 1 to 5 kB each, by the length of the tokens: at most some 50 MB. */
const MOST_REMEMBERED = 10_000;

/**
 * Opening costs as much CPU as the rest of a proxied call, and the hash in the key's name a fair part of that. An
 * entry counts only for the same id and the same bytes: a value copied to another session's key is opened, and
 * refused, as new. All entries go with the session keys: a key that was taken away opens nothing any more.
 */
export function createDecryptedRecords(
  encryption: Encryption,
  toKey: (id: string) => string,
  log: Logger,
): DecryptedRecords {
  const sessions = derive(
    encryption.keyring,
    () => new LRUCache<string, Remembered>({ max: MOST_REMEMBERED }),
  );

  const open = (
    encrypted: string,
    id: string,
    key: string,
    by: RequestContext | undefined,
  ): Opened | null => {
    const plain = encryption.open(encrypted, id, key);
    const record = plain === null ? null : parseRecord(plain.text);
    if (plain === null || record === null) {
      log.warn({ ...toSessionMembers(id, by), key }, 'session value refused');
      return null;
    }
    return { ticket: { id, encrypted, record }, current: plain.current };
  };

  return {
    // An id that nobody has a session for is not remembered: it comes from a cookie that may be as old as it likes.
    keyOf: (id) => sessions.current.get(id)?.key ?? toKey(id),
    open(encrypted, id, by) {
      const known = sessions.current.get(id);
      if (known?.opened.ticket.encrypted === encrypted) return known.opened;
      const key = known?.key ?? toKey(id);
      const opened = open(encrypted, id, key, by);
      if (opened === null) return null;
      if (known === undefined) sessions.current.set(id, { key, opened });
      else known.opened = opened;
      return opened;
    },
    forget: (id) => sessions.current.delete(id),
  };
}
