import { randomBytes } from 'node:crypto';

/** Token lengths in characters. */
export const OPAQUE = { name: 'opaque tokens', access: 43, refresh: 43 };
export const JWT_LIKE = { name: 'tokens as long as JWTs', access: 1_200, refresh: 500 };

/**
 * Creates a random token.
 * @param {number} length
 */
export function newToken(length) {
  return randomBytes(Math.ceil((length * 3) / 4))
    .toString('base64url')
    .slice(0, length);
}

/**
 * Creates a grant, backdated if `leftSeconds` is less than `lifetimeSeconds`.
 * @param {{ access: number, refresh: number }} lengths
 * @param {number} lifetimeSeconds
 * @param {number} [leftSeconds] until the access token expires
 * @returns {import('../../src/session/record.ts').Grant}
 */
export function newGrant(lengths, lifetimeSeconds, leftSeconds = lifetimeSeconds) {
  return {
    accessToken: newToken(lengths.access),
    refreshToken: newToken(lengths.refresh),
    lifetimeMs: lifetimeSeconds * 1_000,
    expiresAt: Date.now() + leftSeconds * 1_000,
    scopes: ['room:read', 'room:write', 'workspace:read'],
  };
}
