import { createHmac } from 'node:crypto';
import { parseCookie } from 'cookie';
import type { Request, Response } from 'express';
import { storeReply, type RedisClient } from '../redis/client.ts';
import { isSameSecret, newSecret, secretKey } from './secrets.ts';

/** A user who can sign in to the local service. */
export interface Account {
  /** The id of the account, which is also the user name. */
  readonly id: string;
  readonly firstName: string;
  readonly lastName: string;
}

/** A browser at the authorization endpoint. */
export interface Browser {
  /** Value of the browser's cookie, and the key for form tokens. Absent on the first visit. */
  readonly secret?: string;
  /** The account that is signed in with this cookie. */
  readonly account?: Account;
}

export type BrowserSignIn = ReturnType<typeof createBrowserSignIn>;

/** The accounts. The passwords are documented in plain text, because this service runs on the developer's own machine. */
const ACCOUNTS: readonly (Account & { readonly password: string })[] = [
  { id: 'demo', password: 'demo', firstName: 'Robin', lastName: 'Vesterholt' },
  { id: 'guest', password: 'guest', firstName: 'Inês', lastName: 'Tavares' },
];

const COOKIE = 'local_service';

/** A user who is inactive on the service's pages for 12 hours must sign in again. */
const IDLE_SECONDS = 43_200;

export function findAccount(userName: string, password: string): Account | undefined {
  const account = ACCOUNTS.find(({ id }) => id === userName);
  return account !== undefined && isSameSecret(password, account.password) ? account : undefined;
}

/**
 * Handles sign-in on the service's own pages. Redis stores each sign-in under a hash of the browser's cookie, which lasts for
 * the browser session and is sent only to `path`. Every promise rejects with StoreUnavailableError while Redis is down.
 */
export function createBrowserSignIn(redis: RedisClient, path: string) {
  const key = (secret: string) => secretKey('browser', secret);
  const attributes = { path, httpOnly: true, sameSite: 'lax' } as const;

  const forget = async ({ secret, account }: Browser) => {
    if (secret !== undefined && account !== undefined) await storeReply(redis.del(key(secret)));
  };

  return {
    /** Sets a cookie for a browser that has not signed in, and returns the cookie's value. */
    setCookie(res: Response): string {
      const secret = newSecret();
      res.cookie(COOKIE, secret, attributes);
      return secret;
    },
    /** Identifies a browser by its cookie. A malformed cookie is treated as missing. */
    async recognise(req: Request): Promise<Browser> {
      const secret = parseCookie(req.get('cookie') ?? '')[COOKIE];
      if (secret === undefined || !/^[A-Za-z0-9_-]{43}$/.test(secret)) return {};
      const userId = await storeReply(redis.getex(key(secret), 'EX', IDLE_SECONDS));
      const account = ACCOUNTS.find(({ id }) => id === userId);
      return { secret, ...(account !== undefined && { account }) };
    },
    /** Signs the account in with a new cookie, because an attacker may have planted the old cookie (session fixation). */
    async signIn(res: Response, before: Browser, account: Account): Promise<void> {
      await forget(before);
      const secret = newSecret();
      await storeReply(redis.set(key(secret), account.id, 'EX', IDLE_SECONDS));
      res.cookie(COOKIE, secret, attributes);
    },
    async signOut(res: Response, browser: Browser): Promise<void> {
      await forget(browser);
      res.clearCookie(COOKIE, attributes);
    },
  };
}

/**
 * Returns the token that protects a form against cross-site requests: an HMAC of the authorization query, keyed with the
 * browser's cookie. A form that was shown for one app or scope can't be submitted for another.
 */
export function toFormToken(browserSecret: string, query: string): string {
  return createHmac('sha256', browserSecret).update(`form\n${query}`).digest('base64url');
}

/** Returns whether the form was shown to this browser for this request. */
export function isValidFormToken(token: string, browserSecret: string | undefined, query: string): boolean {
  return browserSecret !== undefined && isSameSecret(token, toFormToken(browserSecret, query));
}
