import { Router } from 'express';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import type { Config, Secrets } from '../config/load.ts';
import type { Reloadable } from '../config/reloadable.ts';
import { refuseEmbedding } from '../http/cross-site.ts';
import type { Logger } from '../observability/logger.ts';
import type { RedisClient } from '../redis/client.ts';
import type { Render } from '../http/templates.ts';
import type { SessionEvents } from '../session/events.ts';
import type { SessionStore } from '../session/store.ts';
import type { SessionCookie } from '../session/cookie.ts';
import { createCallback } from './callback.ts';
import type { OAuthClient } from './client.ts';
import { createSessionExtension, createSessionStatus } from './session-status.ts';
import type { SignInTransactions } from './sign-in-transactions.ts';
import { createSignInLimit } from './rate-limit.ts';
import { toSignInOutcome } from './sign-in-metrics.ts';
import type { CountSignIn } from './sign-in-metrics.ts';
import { createSignIn } from './login.ts';
import { createSignOut, refuseOtherMethods } from './logout.ts';

/** What the routes of sign-in and sign-out work with. */
export interface AuthDeps {
  readonly config: Config;
  readonly secrets: Reloadable<Secrets>;
  readonly redis: RedisClient;
  readonly oauth: OAuthClient;
  readonly attempts: SignInTransactions;
  readonly store: SessionStore;
  readonly life: SessionEvents;
  /** Null where nobody reads metrics. */
  readonly metrics: { readonly countSignIn: CountSignIn } | null;
  readonly cookie: SessionCookie;
  readonly render: Render;
  readonly log: Logger;
  readonly now: () => number;
}

/** `/auth/*` (contract, section 3). `readSession` puts the session on the request where a route needs it. */
export function createAuthRouter(deps: AuthDeps, readSession: RequestHandler[]): Router {
  const router = Router({ caseSensitive: true });
  router.get('/login', refuseEmbedding, createSignInLimit(deps), createSignIn(deps));
  router.get('/callback', readSession, createCallback(deps));
  router.get('/session', createSessionStatus(deps));
  router.post('/session', createSessionExtension(deps));
  router.post('/logout', createSignOut(deps));
  router.all('/logout', refuseOtherMethods);
  router.use(['/login', '/callback'], createFailureCount(deps.metrics?.countSignIn));
  return router;
}

/** Counts what made a sign-in fail, and leaves it to whoever answers. */
function createFailureCount(count: CountSignIn | undefined): ErrorRequestHandler {
  return (error: unknown, _req, _res, next) => {
    const outcome = toSignInOutcome(error);
    if (outcome !== null) count?.(outcome);
    next(error);
  };
}
