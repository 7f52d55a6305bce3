import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';

const MOST_REMEMBERED = 10_000;
const remembered = new LRUCache<string, string>({ max: MOST_REMEMBERED });

/**
 * What logs call a session, the same in every process and under every session key. Of an id of 256 random bits it tells
 * nothing, and it is no part of the key’s name in Redis: that is another hash. Remembered, since each request has it.
 */
export function sessionLogId(id: string): string {
  const known = remembered.get(id);
  if (known !== undefined) return known;
  const name = createHash('sha256').update('cloakroom session in logs').update(id).digest('base64url');
  const pseudonym = name.slice(0, 16);
  remembered.set(id, pseudonym);
  return pseudonym;
}
