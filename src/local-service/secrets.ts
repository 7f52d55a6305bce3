import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const PREFIX = 'local-service:';

/** Generates an unguessable value: 256 random bits in base64url. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the Redis key for an id that is not secret. */
export function storeKey(kind: string, id: string): string {
  return `${PREFIX}${kind}:${id}`;
}

/** Returns the Redis key for a secret. The key contains a hash, so that a copy of the Redis data reveals no codes, tokens or cookies. */
export function secretKey(kind: string, secret: string): string {
  return storeKey(kind, sha256(secret).toString('base64url'));
}

/** Compares two secrets without revealing the position of their first difference through timing. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(sha256(one), sha256(other));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
