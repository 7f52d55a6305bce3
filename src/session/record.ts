import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

const grantSchema = z.object({
  accessToken: z.string(),
  /** When the access token is spent, in ms since the epoch by our clock. */
  expiresAt: z.number(),
  /** Whole life of the access token in ms, counted from when it was asked for. */
  lifetimeMs: z.number(),
  /** Absent where the service gave none: then the session ends with its access token. */
  refreshToken: z.string().optional(),
  scopes: z.array(z.string()),
});

const recordSchema = z.object({
  grant: grantSchema,
  /** When the user signed in, in ms since the epoch. */
  createdAt: z.number(),
  /** When the grant was last renewed, in ms since the epoch; absent until then. */
  refreshedAt: z.number().optional(),
});

/** What the service granted: never leaves the server, and stands in Redis only encrypted. */
export type Grant = Readonly<z.infer<typeof grantSchema>>;

/** What is encrypted into a session's value in Redis. */
export type SessionRecord = Readonly<z.infer<typeof recordSchema>>;

/** Whether nobody has renewed it: a service may give the same access token again, with another refresh token. */
export function isSameGrant(one: Grant, other: Grant): boolean {
  return isDeepStrictEqual(one, other);
}

/**
 * When a session ends whatever is done, in ISO 8601 UTC. It never changes, and so tells a session from another without saying
 * anything of its id.
 */
export function endOfSession({ createdAt }: SessionRecord, maxSeconds: number): string {
  return new Date(createdAt + maxSeconds * 1_000).toISOString();
}

/** A session as one request read it. */
export interface Session {
  /** The id in the cookie: a secret. */
  readonly id: string;
  /** The very value in Redis that was opened: what a replacement is compared with. */
  readonly encrypted: string;
  readonly record: SessionRecord;
}

/** Null where the text, though encrypted by us, is not a record of this version. */
export function parseRecord(text: string): SessionRecord | null {
  const parsed = recordSchema.safeParse(JSON.parse(text));
  return parsed.success ? parsed.data : null;
}
