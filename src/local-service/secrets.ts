import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const PREFIX = 'local-service:';

/** Makes an unguessable value: 256 bits as base64url. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Makes the Redis key of a value that is not secret. */
export function storeKey(kind: string, id: string): string {
  return `${PREFIX}${kind}:${id}`;
}

/** Makes the Redis key of a secret from its SHA-256, so that a copy of Redis reveals no code, token or cookie. */
export function secretKey(kind: string, secret: string): string {
  return storeKey(kind, sha256(secret).toString('base64url'));
}

/** Compares two secrets in a time that reveals neither their length nor where they differ. */
export function isSameSecret(one: string, other: string): boolean {
  return timingSafeEqual(sha256(one), sha256(other));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
