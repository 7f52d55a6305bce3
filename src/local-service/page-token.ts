import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { fromStore } from '../redis/client.ts';
import type { RedisClient } from '../redis/client.ts';
import { NEXT_TOKEN_KEY_IDLE_SECONDS, NEXT_TOKEN_SECONDS } from './lifetimes.ts';
import { storeKey } from './secrets.ts';
import { ServiceError } from './service-errors.ts';

/** What a `next` token says to the service and to nobody else. */
interface PagePosition {
  /** Path of the list. */
  readonly list: string;
  readonly userId: string;
  /** The `limit` that was sent, or null where none was: every later request must do the same. */
  readonly limit: number | null;
  /** Index of the page's first item. */
  readonly offset: number;
}

export interface PageTokens {
  /** Resolves to the token for the page that begins at `offset`, good for an hour. */
  encrypt(position: PagePosition): Promise<string>;
  /** Rejects with 400 `PAGINATION_INVALID`, or `NEXT_TOKEN_EXPIRED` where the token was good once. */
  open(token: string): Promise<PagePosition>;
}

interface SealedPosition extends PagePosition {
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const LONGEST_TOKEN = 1_024;

/**
 * `next` tokens, encrypted with AES-256-GCM so that they tell nothing and can't be made up or altered. The key is in
 * Redis: a restarted or a second process opens them as well. Both methods reject with StoreUnavailableError where
 * Redis is away.
 */
export function createPageTokens(redis: RedisClient, now: () => number): PageTokens {
  return {
    async encrypt(position) {
      const encrypted: SealedPosition = { ...position, expiresAt: now() + NEXT_TOKEN_SECONDS * 1_000 };
      return encrypt(JSON.stringify(encrypted), await sealingKey(redis));
    },
    async open(token) {
      const text = decrypt(token, await sealingKey(redis));
      if (text === undefined) throw invalidPagination('The next token is not one of this service.');
      const { expiresAt, ...position } = JSON.parse(text) as SealedPosition;
      if (now() >= expiresAt) {
        throw expiredPageToken();
      }
      return position;
    },
  };
}

/** The 400 for a `next` token that can't be honoured. */
export function invalidPagination(message: string): ServiceError {
  return new ServiceError(400, 'PAGINATION_INVALID', message);
}

/** The 400 for a `next` token that was good once. */
export function expiredPageToken(): ServiceError {
  return new ServiceError(400, 'NEXT_TOKEN_EXPIRED', 'The next token has expired; begin with the first page');
}

async function sealingKey(redis: RedisClient): Promise<Buffer> {
  const name = storeKey('next-token-key', 'current');
  const known = await fromStore(redis.getex(name, 'EX', NEXT_TOKEN_KEY_IDLE_SECONDS));
  if (known !== null) return Buffer.from(known, 'base64url');
  const fresh = randomBytes(32).toString('base64url');
  const made = await fromStore(redis.set(name, fresh, 'EX', NEXT_TOKEN_KEY_IDLE_SECONDS, 'NX'));
  // Another process was first: its key is the one.
  return made === 'OK' ? Buffer.from(fresh, 'base64url') : sealingKey(redis);
}

function encrypt(text: string, key: Buffer): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  return Buffer.concat([nonce, cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()]).toString(
    'base64url',
  );
}

function decrypt(token: string, key: Buffer): string | undefined {
  if (token.length > LONGEST_TOKEN || !/^[A-Za-z0-9_-]+$/.test(token)) return undefined;
  const bytes = Buffer.from(token, 'base64url');
  // The decoder ignores stray last bits: only the one spelling that was issued is taken.
  if (bytes.length <= NONCE_BYTES + TAG_BYTES || bytes.toString('base64url') !== token) return undefined;
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
