import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const PREFIX = 'local-service:';

/** A new unguessable value, 256 bits as base64url: a code, a token, a cookie, a grant's id. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** Redis key of a thing that isn't secret. */
export function storeKey(kind: string, id: string): string {
  return `${PREFIX}${kind}:${id}`;
}

/** Redis key of a secret: made from its SHA-256, so that a copy of Redis hands out no code or token. */
export function secretKey(kind: string, secret: string): string {
  return storeKey(kind, sha256(secret).toString('base64url'));
}

/** Whether two secrets are the same, in a time that tells nothing of where they differ or how long they are. */
export function sameSecret(one: string, other: string): boolean {
  return timingSafeEqual(sha256(one), sha256(other));
}

function sha256(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
