import { createHash, randomBytes } from 'node:crypto';
import { parse, serialize } from 'cookie';
import { z } from 'zod';
import { fromStore } from '../redis/client.ts';
import type { RedisClient } from '../redis/client.ts';
import type { Encryption } from '../session/encryption.ts';

/** How long a user may take at the service's pages. */
const ATTEMPT_SECONDS = 600;

const attemptSchema = z.object({
  verifier: z.string(),
  returnTo: z.string(),
  /** Hash of the cookie of the browser that began it. */
  browser: z.string(),
  /** The session that the browser had: a strict cookie does not come along when the service sends it back. */
  sessionBefore: z.string().optional(),
});

/** A sign-in that is under way at the service. */
export type SignInTransaction = z.infer<typeof attemptSchema>;

/** Sign-ins under way; each call rejects with StoreUnavailableError while Redis is away or full. */
export interface SignInTransactions {
  /** Keeps an attempt for ten minutes; returns the `Set-Cookie` value that ties it to the browser. */
  begin(
    state: string,
    attempt: Omit<SignInTransaction, 'browser'>,
    cookieHeader: string | undefined,
  ): Promise<string>;
  /** Takes the attempt of a `state`, once; null where there is none, or another browser began it. */
  consume(state: string, cookieHeader: string | undefined): Promise<SignInTransaction | null>;
}

/**
 * Attempts in Redis under a hash of their `state`, encrypted under the `state` itself. One cookie ties all attempts of a
 * browser to it, so that tabs can sign in side by side and cookies don't pile up (RFC 9700 §4.7.1: a `state` must be
 * bound to the user agent).
 */
export function createSignInTransactions(deps: {
  readonly redis: RedisClient;
  readonly prefix: string;
  readonly encryption: Encryption;
  readonly https: boolean;
}): SignInTransactions {
  const { redis, encryption } = deps;
  const cookiePrefix = deps.https ? '__Host-Http-cloakroom-signin-' : 'cloakroom-signin-';
  const keyOf = (state: string) => `${deps.prefix}signin:${hash(state)}`;

  /** Nearly always one; more where a browser that had none began in several tabs at the very same time. */
  const browsersOf = (cookieHeader: string | undefined): [name: string, value: string][] =>
    Object.entries(parse(cookieHeader ?? '')).flatMap(([name, value = '']) =>
      name.startsWith(cookiePrefix) && /^[\w-]{43}$/.test(value) ? [[name, value]] : [],
    );

  return {
    async begin(state, attempt, cookieHeader) {
      const [known] = browsersOf(cookieHeader);
      const [name, browser] = known ?? [cookiePrefix + randomToken(4), randomToken(32)];
      const key = keyOf(state);
      const encrypted = encryption.encrypt(
        JSON.stringify({ ...attempt, browser: hash(browser) }),
        state,
        key,
      );
      await fromStore(redis.set(key, encrypted, 'EX', ATTEMPT_SECONDS));
      // Lax even where the session cookie is strict: the service sends the browser back from another site.
      const attributes = { path: '/', httpOnly: true, secure: deps.https, sameSite: 'lax' } as const;
      return serialize(name, browser, { ...attributes, maxAge: ATTEMPT_SECONDS });
    },
    async consume(state, cookieHeader) {
      const browsers = browsersOf(cookieHeader).map(([, value]) => hash(value));
      if (browsers.length === 0) return null;
      const key = keyOf(state);
      const encrypted = await fromStore(redis.getdel(key));
      const opened = encrypted === null ? null : encryption.open(encrypted, state, key);
      if (opened === null) return null;
      const attempt = attemptSchema.parse(JSON.parse(opened.text));
      return browsers.includes(attempt.browser) ? attempt : null;
    },
  };
}

function hash(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

function randomToken(bytes: number): string {
  return randomBytes(bytes).toString('base64url');
}
