import { storeReply, type RedisClient } from '../redis/client.ts';
import type { LocalServiceConfig } from './config.ts';
import { newSecret, secretKey, storeKey } from './secrets.ts';

const DAY_SECONDS = 86_400;

/** Time for which Redis keeps used codes and expired tokens, so that errors can say "used" or "expired". */
const REMEMBER_SECONDS = DAY_SECONDS;

/** Idle timeout of a refresh token and its grant. */
export const REFRESH_IDLE_SECONDS = 90 * DAY_SECONDS;

/** A user's consent. Codes and tokens refer to their grant, so revoking a grant revokes all its codes and tokens. */
export interface Grant {
  /** The app that the user authorised. A code or token issued to another app is refused with `invalid_grant` (interface, section 7). */
  readonly clientId: string;
  readonly userId: string;
  readonly scopes: readonly string[];
}

/** The record of an authorization code (RFC 6749 §4.1.2). */
export interface CodeRecord {
  readonly grantId: string;
  readonly redirectUri: string;
  /** S256 challenge (RFC 7636 §4.2). A code with a challenge can be exchanged only with the verifier. */
  readonly codeChallenge?: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

interface AccessTokenRecord {
  readonly grantId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly isRevoked?: true;
}

interface RefreshTokenRecord {
  readonly grantId: string;
  /** Milliseconds since the epoch. Every use of the token extends this time. */
  readonly idleUntil: number;
}

/** The state of an access token in a request. */
type AccessTokenCheck =
  { readonly state: 'valid'; readonly grant: Grant } | { readonly state: 'expired' | 'revoked' | 'unknown' };

export type OAuthStore = ReturnType<typeof createOAuthStore>;
type Grants = ReturnType<typeof createGrants>;

/**
 * Stores grants, authorization codes, access tokens and refresh tokens in Redis, under hashes of the secrets. `now` returns the
 * time in milliseconds. Every method rejects with StoreUnavailableError while Redis is down.
 */
export function createOAuthStore(
  redis: RedisClient,
  config: Pick<LocalServiceConfig, 'accessTokenSeconds' | 'codeSeconds'>,
  now: () => number,
) {
  const grants = createGrants(redis);
  return {
    grants,
    codes: createAuthorizationCodes(redis, config.codeSeconds, now),
    accessTokens: createAccessTokens(redis, grants, config.accessTokenSeconds, now),
    refreshTokens: createRefreshTokens(redis, now),
  };
}

function createGrants(redis: RedisClient) {
  const key = (id: string) => storeKey('grant', id);
  return {
    /** Records a user's consent and resolves with the grant's id. The grant is short-lived until `keep` is called. */
    async create(grant: Grant): Promise<string> {
      const id = newSecret();
      await storeReply(redis.set(key(id), JSON.stringify(grant), 'EX', REMEMBER_SECONDS));
      return id;
    },
    find: async (id: string) => readJson<Grant>(redis, key(id)),
    /** Restarts the grant's idle timeout. Never revives a revoked grant. */
    async keep(id: string): Promise<void> {
      await storeReply(redis.expire(key(id), REFRESH_IDLE_SECONDS));
    },
    async revoke(id: string): Promise<void> {
      await storeReply(redis.del(key(id)));
    },
  };
}

function createAuthorizationCodes(redis: RedisClient, codeSeconds: number, now: () => number) {
  const key = (code: string) => secretKey('code', code);
  const usedKey = (code: string) => secretKey('used-code', code);
  return {
    /** Resolves with a new code, to be passed to the app through the browser. */
    async issue(code: Omit<CodeRecord, 'expiresAt'>): Promise<string> {
      const secret = newSecret();
      const record: CodeRecord = { ...code, expiresAt: now() + codeSeconds * 1_000 };
      // The record outlives the code by a day, so that a replay can still revoke the grant.
      const seconds = codeSeconds + REMEMBER_SECONDS;
      await storeReply(redis.set(key(secret), JSON.stringify(record), 'EX', seconds));
      return secret;
    },
    /** Resolves with undefined if the code was never issued or its record has expired. Does not use up the code. */
    find: async (code: string) => readJson<CodeRecord>(redis, key(code)),
    isUsed: async (code: string) => (await storeReply(redis.exists(usedKey(code)))) === 1,
    /** Uses up the code. Resolves to true for exactly one caller, across all processes. */
    async use(code: string): Promise<boolean> {
      // This key outlives the record, so that a used code can never appear unused.
      const seconds = codeSeconds + 2 * REMEMBER_SECONDS;
      return (await storeReply(redis.set(usedKey(code), '1', 'EX', seconds, 'NX'))) === 'OK';
    },
  };
}

function createAccessTokens(
  redis: RedisClient,
  grants: Grants,
  accessTokenSeconds: number,
  now: () => number,
) {
  const key = (token: string) => secretKey('access-token', token);
  const find = async (token: string) => readJson<AccessTokenRecord>(redis, key(token));
  return {
    async issue(grantId: string): Promise<string> {
      const secret = newSecret();
      const record: AccessTokenRecord = { grantId, expiresAt: now() + accessTokenSeconds * 1_000 };
      const seconds = accessTokenSeconds + REMEMBER_SECONDS;
      await storeReply(redis.set(key(secret), JSON.stringify(record), 'EX', seconds));
      return secret;
    },
    /** Checks a token against its grant and the clock. A token that is both revoked and expired is reported as revoked. */
    async check(token: string): Promise<AccessTokenCheck> {
      const record = await find(token);
      if (record === undefined) return { state: 'unknown' };
      const grant = await grants.find(record.grantId);
      if (grant === undefined || record.isRevoked) return { state: 'revoked' };
      return now() < record.expiresAt ? { state: 'valid', grant } : { state: 'expired' };
    },
    /** Resolves with the id of the token's grant, even if the grant is revoked. */
    grantOf: async (token: string) => (await find(token))?.grantId,
    /** Revokes only this token, not its grant. */
    async revoke(token: string): Promise<void> {
      const record = await find(token);
      if (record === undefined) return;
      const revoked = JSON.stringify({ ...record, isRevoked: true } satisfies AccessTokenRecord);
      await storeReply(redis.set(key(token), revoked, 'KEEPTTL', 'XX'));
    },
  };
}

function createRefreshTokens(redis: RedisClient, now: () => number) {
  const key = (token: string) => secretKey('refresh', token);
  const toRecord = (grantId: string): string => {
    const record: RefreshTokenRecord = { grantId, idleUntil: now() + REFRESH_IDLE_SECONDS * 1_000 };
    return JSON.stringify(record);
  };
  return {
    async issue(grantId: string): Promise<string> {
      const secret = newSecret();
      await storeReply(redis.set(key(secret), toRecord(grantId), 'EX', REFRESH_IDLE_SECONDS));
      return secret;
    },
    /** Resolves with the id of the token's grant; undefined if the token is unknown, revoked or expired. */
    async find(token: string): Promise<string | undefined> {
      const record = await readJson<RefreshTokenRecord>(redis, key(token));
      return record !== undefined && now() < record.idleUntil ? record.grantId : undefined;
    },
    /** Restarts the token's idle timeout. Never revives a revoked token. */
    async keep(token: string, grantId: string): Promise<void> {
      await storeReply(redis.set(key(token), toRecord(grantId), 'EX', REFRESH_IDLE_SECONDS, 'XX'));
    },
    /** Revokes the token. Resolves to true for exactly one caller, across all processes. */
    revoke: async (token: string) => (await storeReply(redis.del(key(token)))) === 1,
  };
}

async function readJson<T>(redis: RedisClient, key: string): Promise<T | undefined> {
  const text = await storeReply(redis.get(key));
  return text === null ? undefined : (JSON.parse(text) as T);
}
