import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { storeReply, type RedisClient } from '../redis/client.ts';
import { ServiceError } from './error-responses.ts';
import { storeKey } from './secrets.ts';

/** The response envelope (interface, section 2); `next` is absent on the last page. */
interface Page<Item> {
  readonly value: readonly Item[];
  readonly next?: string;
}

/** A list, as seen by one user. */
interface List<Item> {
  /** Cursors are bound to this path and the user. */
  readonly path: string;
  readonly userId: string;
  readonly items: Items<Item>;
  /** Page size if a request has no `limit`. */
  readonly defaultLimit: number;
}

/** Items that are generated on access. */
export interface Items<Item> {
  readonly count: number;
  /** `index` ranges from 0 to `count - 1`. */
  at(index: number): Item;
}

/** Resolves with the page of the list that the query requests (interface 4.5). */
export type PageReader = <Item>(list: List<Item>, query: URLSearchParams) => Promise<Page<Item>>;

/** The content of a cursor (the value of `next`), which only this service can decrypt. */
interface Cursor {
  readonly list: string;
  readonly userId: string;
  /** The `limit` in the first request, or null if that request had none. Later requests must have the same limit (rule 4). */
  readonly limit: number | null;
  readonly offset: number;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const MAX_LIMIT = 100;
const CURSOR_SECONDS = 3_600;
/** The cursor encryption key expires if no cursor is issued or used for 30 days. */
const KEY_IDLE_SECONDS = 30 * 86_400;
const MAX_CURSOR_LENGTH = 1_024;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Creates the page reader, which rejects with 400 `LIMIT_INVALID`, `PAGINATION_INVALID` or `NEXT_TOKEN_EXPIRED`, or with
 * StoreUnavailableError while Redis is down.
 */
export function createPageReader(redis: RedisClient, now: () => number): PageReader {
  return async (list, query) => {
    const limit = readLimit(query);
    const offset = await readOffset(list, limit, query);
    const end = Math.min(offset + (limit ?? list.defaultLimit), list.items.count);
    const length = Math.max(end - offset, 0);
    const value = Array.from({ length }, (_, index) => list.items.at(offset + index));
    if (end >= list.items.count) return { value };
    const expiresAt = now() + CURSOR_SECONDS * 1_000;
    const cursor: Cursor = { list: list.path, userId: list.userId, limit, offset: end, expiresAt };
    return { value, next: encrypt(JSON.stringify(cursor), await cursorKey(redis)) };
  };

  async function readOffset(
    list: List<unknown>,
    limit: number | null,
    query: URLSearchParams,
  ): Promise<number> {
    const [next, ...more] = query.getAll('next');
    if (next === undefined) return 0;
    if (more.length > 0) throw invalidPagination('next is repeated.');
    const text = decrypt(next, await cursorKey(redis));
    if (text === undefined) throw invalidPagination('The next token was not issued by this service.');
    const cursor = JSON.parse(text) as Cursor;
    if (now() >= cursor.expiresAt) throw expiredCursor();
    if (cursor.list !== list.path || cursor.userId !== list.userId)
      throw invalidPagination('The next token belongs to another list.');
    if (cursor.limit !== limit) throw invalidPagination('limit must be the same as in the first request.');
    return cursor.offset;
  }
}

export function expiredCursor(): ServiceError {
  return new ServiceError(
    400,
    'NEXT_TOKEN_EXPIRED',
    'The next token has expired; start again from the first page',
  );
}

function invalidPagination(message: string): ServiceError {
  return new ServiceError(400, 'PAGINATION_INVALID', message);
}

function readLimit(query: URLSearchParams): number | null {
  const [text, ...more] = query.getAll('limit');
  if (text === undefined) return null;
  if (more.length > 0 || !/^[1-9]\d{0,2}$/.test(text) || Number(text) > MAX_LIMIT)
    throw new ServiceError(400, 'LIMIT_INVALID', `limit must be a whole number from 1 to ${MAX_LIMIT}`);
  return Number(text);
}

/** Resolves with the encryption key in Redis. With this shared key, cursors work after a restart and in every process. */
async function cursorKey(redis: RedisClient): Promise<Buffer> {
  const name = storeKey('next-token-key', 'current');
  const known = await storeReply(redis.getex(name, 'EX', KEY_IDLE_SECONDS));
  if (known !== null) return Buffer.from(known, 'base64url');
  const fresh = randomBytes(32).toString('base64url');
  const written = await storeReply(redis.set(name, fresh, 'EX', KEY_IDLE_SECONDS, 'NX'));
  // If another process has stored a key in the meantime, use that key.
  return written === 'OK' ? Buffer.from(fresh, 'base64url') : cursorKey(redis);
}

/** Encrypts with AES-256-GCM, so that clients can neither read nor forge cursors. */
function encrypt(text: string, key: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const encrypted = [nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(encrypted).toString('base64url');
}

function decrypt(cursor: string, key: Buffer): string | undefined {
  if (cursor.length > MAX_CURSOR_LENGTH || !/^[A-Za-z0-9_-]+$/.test(cursor)) return undefined;
  const bytes = Buffer.from(cursor, 'base64url');
  // The decoder ignores unused trailing bits. Accept only the exact text that was issued.
  if (bytes.length <= NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== cursor) return undefined;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  try {
    return (
      decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
    );
  } catch {
    return undefined; // the tag does not match
  }
}
