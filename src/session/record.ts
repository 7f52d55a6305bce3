import { isDeepStrictEqual } from 'node:util';
import * as z from 'zod';

const grantSchema = z.object({
  accessToken: z.string(),
  /** Time at which the access token expires, in ms since the epoch, by this host's clock. */
  expiresAt: z.number(),
  /** Lifetime of the access token, counted from the token request, in ms. */
  lifetimeMs: z.number(),
  /** Absent if the service issued no refresh token. The session then ends when its access token expires. */
  refreshToken: z.string().optional(),
  scopes: z.array(z.string()),
});

const recordSchema = z.object({
  grant: grantSchema,
  /** Time of the sign-in, in ms since the epoch. */
  createdAt: z.number(),
  /** Time of the last token refresh, in ms since the epoch; absent before the first refresh. */
  refreshedAt: z.number().optional(),
});

/** The tokens of a session, which are never sent to a browser and are always encrypted in Redis. */
export type Grant = Readonly<z.infer<typeof grantSchema>>;

/** The content of a session's value in Redis, before encryption. */
export type SessionRecord = Readonly<z.infer<typeof recordSchema>>;

/** A session as read by a request. */
export interface Session {
  /** The secret id in the cookie. */
  readonly id: string;
  /** The value in Redis that `record` was decrypted from. A replacement succeeds only if Redis still holds this value. */
  readonly encrypted: string;
  readonly record: SessionRecord;
}

/** Parses a decrypted record; returns null if the format is unknown. */
export function parseRecord(text: string): SessionRecord | null {
  try {
    return recordSchema.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Returns whether two grants come from the same refresh. A service may reissue the same access token with a new refresh token. */
export function isSameGrant(one: Grant, other: Grant): boolean {
  return isDeepStrictEqual(one, other);
}

/** A token that a request can no longer use, because it has expired, is about to expire, or was refused by the service. */
export type StaleToken = Pick<Grant, 'accessToken' | 'expiresAt'>;

/** Returns whether a grant is newer than a stale token. A service may reissue the same access token with a later expiry. */
export function isNewer(grant: Grant, stale: StaleToken): boolean {
  return grant.accessToken !== stale.accessToken || grant.expiresAt > stale.expiresAt;
}

/** Returns the latest time at which a session can end, in ISO 8601 UTC. This time identifies the session without revealing its id. */
export function sessionEndsAt({ createdAt }: SessionRecord, maxSeconds: number): string {
  return new Date(createdAt + maxSeconds * 1_000).toISOString();
}
