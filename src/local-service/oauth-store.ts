import { fromStore } from '../redis/client.ts';
import type { RedisClient } from '../redis/client.ts';
import type { Grant, Grants } from './grants.ts';
import { REMEMBER_SPENT_SECONDS } from './lifetimes.ts';
import { newSecret, secretKey } from './secrets.ts';

interface AccessTokenRecord {
  readonly grantId: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
  readonly isRevoked?: true;
}

/** What is known of an access token that came with a call. */
type AccessTokenCheck =
  { readonly state: 'valid'; readonly grant: Grant } | { readonly state: 'expired' | 'revoked' | 'unknown' };

export interface AccessTokens {
  /** Resolves to a new access token under the grant. */
  issue(grantId: string): Promise<string>;
  /** Judges a token by the clock and by its grant; a revoked grant is found out before an expiry. */
  check(token: string): Promise<AccessTokenCheck>;
  /** Resolves to the id of the token's grant, whether that still stands or not. */
  grantOf(token: string): Promise<string | undefined>;
  /** Ends this token alone. */
  revoke(token: string): Promise<void>;
}

/** Access tokens in Redis, as hashes. Every method rejects with StoreUnavailableError where Redis is away. */
export function createAccessTokens(
  redis: RedisClient,
  grants: Grants,
  accessTokenSeconds: number,
  now: () => number,
): AccessTokens {
  const key = (token: string) => secretKey('access-token', token);
  const find = async (token: string): Promise<AccessTokenRecord | undefined> => {
    const text = await fromStore(redis.get(key(token)));
    return text === null ? undefined : (JSON.parse(text) as AccessTokenRecord);
  };

  return {
    async issue(grantId) {
      const secret = newSecret();
      const record: AccessTokenRecord = { grantId, expiresAt: now() + accessTokenSeconds * 1_000 };
      const seconds = accessTokenSeconds + REMEMBER_SPENT_SECONDS;
      await fromStore(redis.set(key(secret), JSON.stringify(record), 'EX', seconds));
      return secret;
    },
    async check(token) {
      const record = await find(token);
      if (record === undefined) return { state: 'unknown' };
      const grant = await grants.find(record.grantId);
      if (grant === undefined || record.isRevoked) return { state: 'revoked' };
      return now() < record.expiresAt ? { state: 'valid', grant } : { state: 'expired' };
    },
    grantOf: async (token) => (await find(token))?.grantId,
    async revoke(token) {
      const record = await find(token);
      if (record === undefined) return;
      const revoked = JSON.stringify({ ...record, isRevoked: true } satisfies AccessTokenRecord);
      await fromStore(redis.set(key(token), revoked, 'KEEPTTL', 'XX'));
    },
  };
}
