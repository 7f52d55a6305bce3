import { createHash, randomBytes } from 'node:crypto';
import { parse, serialize } from 'cookie';
import * as z from 'zod';
import { storeReply, type RedisClient } from '../redis/client.ts';
import type { Encryption } from '../session/encryption.ts';

/** Maximum time that a user may spend on the service's pages, in seconds. */
const TRANSACTION_SECONDS = 600;

const transactionSchema = z.object({
  /** PKCE code verifier (RFC 7636 §4.1). */
  verifier: z.string(),
  returnTo: z.string(),
  /** Hash of the cookie that binds the transaction to the browser. */
  browser: z.string(),
  /** The id in the session cookie when the sign-in started. Browsers don't send a strict cookie with the redirect to the callback. */
  previousSession: z.string().optional(),
});

/** The state of a sign-in between login and callback. */
export type SignInTransaction = z.infer<typeof transactionSchema>;

/**
 * Stores sign-in transactions in Redis under a hash of their `state`, encrypted under the `state` itself. A single cookie binds
 * all transactions to the browser (RFC 9700 §4.7.1). Several tabs can therefore sign in at the same time, and cookies don't
 * accumulate. Methods reject with StoreUnavailableError while Redis is down or full.
 */
export function createSignInTransactions(deps: {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly encryption: Encryption;
  readonly https: boolean;
}) {
  const { redis, encryption } = deps;
  const cookiePrefix = deps.https ? '__Host-Http-cloakroom-signin-' : 'cloakroom-signin-';
  const keyOf = (state: string) => `${deps.prefix}signin:${hash(state)}`;

  /**
   * Returns a browser's binding cookies: usually one, but several if its first sign-ins started in several tabs simultaneously.
   */
  const browserCookies = (cookieHeader: string | undefined): [name: string, value: string][] =>
    Object.entries(parse(cookieHeader ?? '')).flatMap(([name, value = '']) =>
      name.startsWith(cookiePrefix) && /^[\w-]{43}$/.test(value) ? [[name, value]] : [],
    );

  return {
    /** Stores a transaction for ten minutes. Resolves with the `Set-Cookie` value that binds it to the browser. */
    async start(
      state: string,
      transaction: Omit<SignInTransaction, 'browser'>,
      cookieHeader: string | undefined,
    ): Promise<string> {
      const [known] = browserCookies(cookieHeader);
      const [name, browser] = known ?? [cookiePrefix + randomToken(4), randomToken(32)];
      const key = keyOf(state);
      const text = JSON.stringify({ ...transaction, browser: hash(browser) });
      const encrypted = encryption.encrypt(text, state, key);
      await storeReply(redis.set(key, encrypted, 'EX', TRANSACTION_SECONDS));
      // This cookie is lax even if the session cookie is strict, because the service redirects back from another site.
      const attributes = { path: '/', httpOnly: true, secure: deps.https, sameSite: 'lax' } as const;
      return serialize(name, browser, { ...attributes, maxAge: TRANSACTION_SECONDS });
    },

    /** Returns and deletes the transaction for a `state`; null if the `state` is unknown or comes from a different browser. */
    async take(state: string, cookieHeader: string | undefined): Promise<SignInTransaction | null> {
      const browsers = browserCookies(cookieHeader).map(([, value]) => hash(value));
      if (browsers.length === 0) return null;
      const key = keyOf(state);
      const encrypted = await storeReply(redis.getdel(key));
      const decrypted = encrypted === null ? null : encryption.decrypt(encrypted, state, key);
      if (decrypted === null) return null;
      const { data: transaction } = transactionSchema.safeParse(JSON.parse(decrypted.text));
      if (transaction === undefined) return null; // started by a different version of Cloakroom
      return browsers.includes(transaction.browser) ? transaction : null;
    },
  };
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function randomToken(bytes: number): string {
  return randomBytes(bytes).toString('base64url');
}
