import { createHash, randomBytes } from 'node:crypto';
import { parse, serialize } from 'cookie';
import { z } from 'zod';
import { storeReply, type RedisClient } from '../redis/client.ts';
import type { Encryption } from '../session/encryption.ts';

/** How long a user may take at the service's pages, in seconds. */
const TRANSACTION_SECONDS = 600;

const transactionSchema = z.object({
  /** PKCE code verifier (RFC 7636 §4.1). */
  verifier: z.string(),
  returnTo: z.string(),
  /** Hash of the cookie that binds it to the browser. */
  browser: z.string(),
  /** Session id in the cookie at its start. A browser does not send a strict cookie when the service redirects back. */
  previousSession: z.string().optional(),
});

/** The state of a sign-in between login and callback. */
export type SignInTransaction = z.infer<typeof transactionSchema>;

/**
 * Keeps sign-in transactions in Redis under a hash of their `state`, encrypted under the `state` itself. One cookie binds all
 * transactions of a browser to it (RFC 9700 §4.7.1). So tabs can sign in side by side, and cookies do not accumulate. Rejects
 * with StoreUnavailableError while Redis is down or full.
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

  /** The binding cookies of a browser, usually one. It gets several if it starts its first sign-ins in several tabs at once. */
  const browserCookies = (cookieHeader: string | undefined): [name: string, value: string][] =>
    Object.entries(parse(cookieHeader ?? '')).flatMap(([name, value = '']) =>
      name.startsWith(cookiePrefix) && /^[\w-]{43}$/.test(value) ? [[name, value]] : [],
    );

  return {
    /** Keeps a transaction for ten minutes. Returns the `Set-Cookie` value that binds it to the browser. */
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
      // Lax even where the session cookie is strict, because the service redirects back from another site.
      const attributes = { path: '/', httpOnly: true, secure: deps.https, sameSite: 'lax' } as const;
      return serialize(name, browser, { ...attributes, maxAge: TRANSACTION_SECONDS });
    },

    /** Takes the transaction of a `state`, once. Null where there is none, or another browser started it. */
    async take(state: string, cookieHeader: string | undefined): Promise<SignInTransaction | null> {
      const browsers = browserCookies(cookieHeader).map(([, value]) => hash(value));
      if (browsers.length === 0) return null;
      const key = keyOf(state);
      const encrypted = await storeReply(redis.getdel(key));
      const decrypted = encrypted === null ? null : encryption.decrypt(encrypted, state, key);
      if (decrypted === null) return null;
      const { data: transaction } = transactionSchema.safeParse(JSON.parse(decrypted.text));
      if (transaction === undefined) return null; // started by another version
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
