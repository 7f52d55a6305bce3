import { fromStore } from '../redis/client.ts';
import type { RedisClient } from '../redis/client.ts';
import { REFRESH_IDLE_SECONDS, REMEMBER_SPENT_SECONDS } from './lifetimes.ts';
import { newSecret, storeKey } from './secrets.ts';

/** What a user allowed the app. Codes and tokens only point at it, so ending it ends them all at once. */
export interface Grant {
  /** The app it was given to: nobody else's codes and tokens come of it (interface section 7). */
  readonly clientId: string;
  readonly userId: string;
  readonly scopes: readonly string[];
}

export interface Grants {
  /** Records a user's consent; resolves to the grant's id. It is short-lived until `keep` is called. */
  create(grant: Grant): Promise<string>;
  /** Resolves to undefined where the grant was revoked or has lapsed. */
  find(id: string): Promise<Grant | undefined>;
  /** Restarts the grant's idle time. Never revives a revoked one. */
  keep(id: string): Promise<void>;
  revoke(id: string): Promise<void>;
}

/** Grants in Redis. Every method rejects with StoreUnavailableError where Redis is away. */
export function createGrants(redis: RedisClient): Grants {
  const key = (id: string) => storeKey('grant', id);
  return {
    async create(grant) {
      const id = newSecret();
      await fromStore(redis.set(key(id), JSON.stringify(grant), 'EX', REMEMBER_SPENT_SECONDS));
      return id;
    },
    async find(id) {
      const text = await fromStore(redis.get(key(id)));
      return text === null ? undefined : (JSON.parse(text) as Grant);
    },
    async keep(id) {
      await fromStore(redis.expire(key(id), REFRESH_IDLE_SECONDS));
    },
    async revoke(id) {
      await fromStore(redis.del(key(id)));
    },
  };
}
