import { fromStore } from '../platform/redis.ts';
import type { RedisClient } from '../platform/redis.ts';
import type { Grant, Grants } from './grants.ts';
import { REMEMBER_SPENT_SECONDS } from './lifetimes.ts';
import { newSecret, secretKey } from './secrets.ts';

interface AccessTokenRecord {
  readonly grantId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

/** What is known of an access token that came with a call. */
type AccessTokenCheck =
  { readonly state: 'valid'; readonly grant: Grant } | { readonly state: 'expired' | 'revoked' | 'unknown' };

export interface AccessTokens {
  /** Resolves to a new access token under the grant. */
  issue(grantId: string): Promise<string>;
  /** Judges a token by the clock and by its grant; a revoked grant is found out before an expiry. */
  check(token: string): Promise<AccessTokenCheck>;
}

/** Access tokens in Redis, as hashes. Every method rejects with StoreUnavailableError where Redis is away. */
export function createAccessTokens(
  redis: RedisClient,
  grants: Grants,
  accessTokenSeconds: number,
  now: () => number,
): AccessTokens {
  return {
    async issue(grantId) {
      const secret = newSecret();
      const record: AccessTokenRecord = { grantId, expiresAt: now() + accessTokenSeconds * 1_000 };
      const seconds = accessTokenSeconds + REMEMBER_SPENT_SECONDS;
      await fromStore(redis.set(secretKey('access-token', secret), JSON.stringify(record), 'EX', seconds));
      return secret;
    },
    async check(token) {
      const text = await fromStore(redis.get(secretKey('access-token', token)));
      if (text === null) return { state: 'unknown' };
      const record = JSON.parse(text) as AccessTokenRecord;
      const grant = await grants.find(record.grantId);
      if (grant === undefined) return { state: 'revoked' };
      return now() < record.expiresAt ? { state: 'valid', grant } : { state: 'expired' };
    },
  };
}
