/** What the service granted: never leaves the server, and stands in Redis only sealed. */
export interface Grant {
  readonly accessToken: string;
  /** When the access token is spent, in ms since the epoch by our clock. */
  readonly expiresAt: number;
  /** Whole life of the access token in ms, from the moment it was asked for. */
  readonly lifetimeMs: number;
  /** Absent where the service gave none: then the session ends with its access token. */
  readonly refreshToken?: string;
  readonly scopes: readonly string[];
}

/** What is sealed into a session's value in Redis. */
export interface SessionRecord {
  readonly grant: Grant;
  /** When the user signed in, in ms since the epoch. */
  readonly createdAt: number;
  /** When the grant was last renewed, in ms since the epoch; absent until then. */
  readonly renewedAt?: number;
}

/** A session as one request read it. */
export interface Ticket {
  /** The id in the cookie: a secret. */
  readonly id: string;
  /** The very value in Redis that was opened: what a replacement is compared with. */
  readonly sealed: string;
  readonly record: SessionRecord;
}
