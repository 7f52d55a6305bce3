import { fromStore } from '../redis/client.ts';
import type { RedisClient } from '../redis/client.ts';
import { REFRESH_IDLE_SECONDS } from './lifetimes.ts';
import { newSecret, secretKey } from './secrets.ts';

interface RefreshTokenRecord {
  readonly grantId: string;
  /** Milliseconds since the epoch; every use moves it on. */
  readonly idleUntil: number;
}

export interface RefreshTokens {
  /** Resolves to a new refresh token under the grant. */
  issue(grantId: string): Promise<string>;
  /** Resolves to the id of the token's grant; undefined where there is no such token, or it was not used for long. */
  find(token: string): Promise<string | undefined>;
  /** Restarts the token's idle time. Never revives one that has ended. */
  keep(token: string, grantId: string): Promise<void>;
  /** Ends the token; resolves to true for exactly one caller, over any number of processes. */
  end(token: string): Promise<boolean>;
}

/** Refresh tokens in Redis, as hashes. Every method rejects with StoreUnavailableError where Redis is away. */
export function createRefreshTokens(redis: RedisClient, now: () => number): RefreshTokens {
  const key = (token: string) => secretKey('refresh', token);
  const toRecord = (grantId: string): string => {
    const record: RefreshTokenRecord = { grantId, idleUntil: now() + REFRESH_IDLE_SECONDS * 1_000 };
    return JSON.stringify(record);
  };

  return {
    async issue(grantId) {
      const secret = newSecret();
      await fromStore(redis.set(key(secret), toRecord(grantId), 'EX', REFRESH_IDLE_SECONDS));
      return secret;
    },
    async find(token) {
      const text = await fromStore(redis.get(key(token)));
      if (text === null) return undefined;
      const { grantId, idleUntil } = JSON.parse(text) as RefreshTokenRecord;
      return now() < idleUntil ? grantId : undefined;
    },
    async keep(token, grantId) {
      await fromStore(redis.set(key(token), toRecord(grantId), 'EX', REFRESH_IDLE_SECONDS, 'XX'));
    },
    async end(token) {
      return (await fromStore(redis.del(key(token)))) === 1;
    },
  };
}
