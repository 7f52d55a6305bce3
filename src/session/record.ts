import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

const grantSchema = z.object({
  accessToken: z.string(),
  /** When the access token expires, in ms since the epoch by our clock. */
  expiresAt: z.number(),
  /** Lifetime of the access token in ms, from the token request on. */
  lifetimeMs: z.number(),
  /** Absent where the service issued none: then the session ends with its access token. */
  refreshToken: z.string().optional(),
  scopes: z.array(z.string()),
});

const recordSchema = z.object({
  grant: grantSchema,
  /** When the user signed in, in ms since the epoch. */
  createdAt: z.number(),
  /** When the tokens were last refreshed, in ms since the epoch; absent before the first refresh. */
  refreshedAt: z.number().optional(),
});

/** The tokens of a session. They never leave the server, and Redis holds them only encrypted. */
export type Grant = Readonly<z.infer<typeof grantSchema>>;

/** The content of a session's value in Redis, before encryption. */
export type SessionRecord = Readonly<z.infer<typeof recordSchema>>;

/** A session as a request read it. */
export interface Session {
  /** The id in the cookie: a secret. */
  readonly id: string;
  /** The value in Redis that `record` was decrypted from. A replacement is compared with it. */
  readonly encrypted: string;
  readonly record: SessionRecord;
}

/** Parses a decrypted record; null where it is of another version. */
export function parseRecord(text: string): SessionRecord | null {
  try {
    return recordSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/**
 * Whether two grants come from the same refresh. Comparing access tokens is not enough, because a service may issue the same
 * one again with another refresh token.
 */
export function isSameGrant(one: Grant, other: Grant): boolean {
  return isDeepStrictEqual(one, other);
}

/** A token that a request can't use any more: expired, expiring, or refused by the service. */
export type StaleToken = Pick<Grant, 'accessToken' | 'expiresAt'>;

/** Whether a grant is newer than a stale token. A service may issue the same access token again, with a later expiry. */
export function isNewer(grant: Grant, stale: StaleToken): boolean {
  return grant.accessToken !== stale.accessToken || grant.expiresAt > stale.expiresAt;
}

/**
 * When a session reaches its maximum age, in ISO 8601 UTC. It never changes, so it distinguishes sessions without revealing
 * their ids.
 */
export function sessionEndsAt({ createdAt }: SessionRecord, maxSeconds: number): string {
  return new Date(createdAt + maxSeconds * 1_000).toISOString();
}
