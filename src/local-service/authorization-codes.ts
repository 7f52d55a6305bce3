import { fromStore } from '../redis/client.ts';
import type { RedisClient } from '../redis/client.ts';
import { REMEMBER_SPENT_SECONDS } from './lifetimes.ts';
import { newSecret, secretKey } from './secrets.ts';

/** What a code stands for (RFC 6749 §4.1.2): bound to the grant, the redirect URI and the PKCE challenge. */
export interface CodeRecord {
  readonly grantId: string;
  readonly redirectUri: string;
  /** S256 challenge (RFC 7636 §4.2); a code with one is never exchanged without its verifier. */
  readonly codeChallenge?: string;
  /** Milliseconds since the epoch. */
  readonly expiresAt: number;
}

export interface AuthorizationCodes {
  /** Resolves to a new code for the browser to carry. */
  issue(code: Omit<CodeRecord, 'expiresAt'>): Promise<string>;
  /** Resolves to undefined where the code was never issued or is long forgotten. Spends nothing. */
  find(code: string): Promise<CodeRecord | undefined>;
  /** Spends the code; resolves to true for exactly one caller, over any number of processes. */
  claim(code: string): Promise<boolean>;
  isSpent(code: string): Promise<boolean>;
}

/** Authorization codes in Redis, as hashes. Every method rejects with StoreUnavailableError where Redis is away. */
export function createAuthorizationCodes(
  redis: RedisClient,
  codeSeconds: number,
  now: () => number,
): AuthorizationCodes {
  return {
    async issue(code) {
      const secret = newSecret();
      const record: CodeRecord = { ...code, expiresAt: now() + codeSeconds * 1_000 };
      // Kept past its expiry: a replay, however late within the day, must find the grant it has to revoke.
      const seconds = codeSeconds + REMEMBER_SPENT_SECONDS;
      await fromStore(redis.set(secretKey('code', secret), JSON.stringify(record), 'EX', seconds));
      return secret;
    },
    async find(code) {
      const text = await fromStore(redis.get(secretKey('code', code)));
      return text === null ? undefined : (JSON.parse(text) as CodeRecord);
    },
    async isSpent(code) {
      return (await fromStore(redis.exists(secretKey('code-spent', code)))) === 1;
    },
    async claim(code) {
      // Longer than the record itself lives, so that there is no moment in which a spent code looks unspent.
      const seconds = codeSeconds + 2 * REMEMBER_SPENT_SECONDS;
      return (await fromStore(redis.set(secretKey('code-spent', code), '1', 'EX', seconds, 'NX'))) === 'OK';
    },
  };
}
