import { parseCookie } from 'cookie';
import type { Request, Response } from 'express';
import { fromStore } from '../redis/client.ts';
import type { RedisClient } from '../redis/client.ts';
import { accountOf } from './accounts.ts';
import type { Account } from './accounts.ts';
import { SIGN_IN_IDLE_SECONDS } from './lifetimes.ts';
import { newSecret, secretKey } from './secrets.ts';

/** A browser at the authorization endpoint. */
export interface Browser {
  /** The value of its cookie: secret, and the key of its forms. Absent on its first visit. */
  readonly secret?: string;
  /** Who signed in with it. */
  readonly account?: Account;
}

export interface BrowserSignIn {
  /** Who is there; a cookie that isn't one of ours counts as none. */
  recognise(req: Request): Promise<Browser>;
  /** Gives the browser a cookie, signed in or not; returns its value. */
  meet(res: Response): string;
  /** Signs the account in, under a new cookie: one that was planted before is worth nothing. */
  signIn(res: Response, before: Browser, account: Account): Promise<void>;
  /** Forgets the sign-in and the cookie. */
  signOut(res: Response, browser: Browser): Promise<void>;
}

const COOKIE = 'local_service';

/**
 * Sign-in on the service's own pages, kept in Redis under a hash of the cookie. The cookie ends with the browser and
 * goes to `path` only. Every promise rejects with StoreUnavailableError where Redis is away.
 */
export function createBrowserSignIn(redis: RedisClient, path: string): BrowserSignIn {
  const key = (secret: string) => secretKey('browser', secret);
  const attributes = { path, httpOnly: true, sameSite: 'lax' } as const;

  const meet = (res: Response) => {
    const secret = newSecret();
    res.cookie(COOKIE, secret, attributes);
    return secret;
  };
  const forget = async ({ secret, account }: Browser) => {
    if (secret !== undefined && account !== undefined) await fromStore(redis.del(key(secret)));
  };

  return {
    meet,
    async recognise(req) {
      const secret = parseCookie(req.get('cookie') ?? '')[COOKIE];
      if (secret === undefined || !/^[A-Za-z0-9_-]{43}$/.test(secret)) return {};
      const userId = await fromStore(redis.getex(key(secret), 'EX', SIGN_IN_IDLE_SECONDS));
      const account = userId === null ? undefined : accountOf(userId);
      return { secret, ...(account !== undefined && { account }) };
    },
    async signIn(res, before, account) {
      await forget(before);
      const secret = newSecret();
      await fromStore(redis.set(key(secret), account.id, 'EX', SIGN_IN_IDLE_SECONDS));
      res.cookie(COOKIE, secret, attributes);
    },
    async signOut(res, browser) {
      await forget(browser);
      res.clearCookie(COOKIE, attributes);
    },
  };
}
