import { randomBytes } from 'node:crypto';

/** Lengths of tokens, in characters. */
export const OPAQUE = { name: 'opaque tokens', access: 43, refresh: 43 };
export const JWT_LIKE = { name: 'tokens as long as JWTs', access: 1_200, refresh: 500 };

/**
 * Makes a random token.
 * @param {number} length
 */
export function newToken(length) {
  return randomBytes(Math.ceil((length * 3) / 4))
    .toString('base64url')
    .slice(0, length);
}

/**
 * Makes a grant as from a token response of now, or of some time ago.
 * @param {{ access: number, refresh: number }} lengths
 * @param {number} lifeSeconds
 * @param {number} [leftSeconds]
 * @returns {import('../../src/session/record.ts').Grant}
 */
export function newGrant(lengths, lifeSeconds, leftSeconds = lifeSeconds) {
  return {
    accessToken: newToken(lengths.access),
    refreshToken: newToken(lengths.refresh),
    lifetimeMs: lifeSeconds * 1_000,
    expiresAt: Date.now() + leftSeconds * 1_000,
    scopes: ['room:read', 'room:write', 'workspace:read'],
  };
}
