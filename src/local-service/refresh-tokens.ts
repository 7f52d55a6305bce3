import { fromStore } from '../platform/redis.ts';
import type { RedisClient } from '../platform/redis.ts';
import { REFRESH_IDLE_SECONDS } from './lifetimes.ts';
import { newSecret, secretKey } from './secrets.ts';

export interface RefreshTokens {
  /** Resolves to a new refresh token under the grant. */
  issue(grantId: string): Promise<string>;
  /** Resolves to the id of the token's grant and restarts its idle time; undefined where there is no such token. */
  use(token: string): Promise<string | undefined>;
  /** Ends the token; resolves to true for exactly one caller, over any number of processes. */
  end(token: string): Promise<boolean>;
}

/** Refresh tokens in Redis, as hashes. Every method rejects with StoreUnavailableError where Redis is away. */
export function createRefreshTokens(redis: RedisClient): RefreshTokens {
  const key = (token: string) => secretKey('refresh-token', token);
  return {
    async issue(grantId) {
      const secret = newSecret();
      await fromStore(redis.set(key(secret), grantId, 'EX', REFRESH_IDLE_SECONDS));
      return secret;
    },
    async use(token) {
      return (await fromStore(redis.getex(key(token), 'EX', REFRESH_IDLE_SECONDS))) ?? undefined;
    },
    async end(token) {
      return (await fromStore(redis.del(key(token)))) === 1;
    },
  };
}
