import { Router } from 'express';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import type { Config, Secrets } from '../config.ts';
import type { Changing } from '../platform/changing.ts';
import { refuseLoading } from '../platform/fetch-metadata.ts';
import type { Logger } from '../platform/log.ts';
import type { RedisClient } from '../platform/redis.ts';
import type { Render } from '../platform/templates.ts';
import type { SessionLife } from '../session/session-life.ts';
import type { SessionRecords } from '../session/session-records.ts';
import type { TicketCookie } from '../session/ticket-cookie.ts';
import { createCallback } from './callback.ts';
import type { OAuthClient } from './oauth-client.ts';
import { createSessionExtension, createSessionStatus } from './session-status.ts';
import type { SignInAttempts } from './sign-in-attempts.ts';
import { createSignInLimit } from './sign-in-limit.ts';
import { toSignInOutcome } from './sign-in-metrics.ts';
import type { CountSignIn } from './sign-in-metrics.ts';
import { createSignIn } from './sign-in.ts';
import { createSignOut, refuseOtherMethods } from './sign-out.ts';

/** What the routes of sign-in and sign-out work with. */
export interface AuthDeps {
  readonly config: Config;
  readonly secrets: Changing<Secrets>;
  readonly redis: RedisClient;
  readonly oauth: OAuthClient;
  readonly attempts: SignInAttempts;
  readonly records: SessionRecords;
  readonly life: SessionLife;
  /** Null where nobody reads metrics. */
  readonly meters: { readonly countSignIn: CountSignIn } | null;
  readonly cookie: TicketCookie;
  readonly render: Render;
  readonly log: Logger;
  readonly now: () => number;
}

/** `/auth/*` (contract, section 3). `readSession` puts the session on the request where a route needs it. */
export function createAuthRouter(deps: AuthDeps, readSession: RequestHandler[]): Router {
  const router = Router({ caseSensitive: true });
  router.get('/login', refuseLoading, createSignInLimit(deps), createSignIn(deps));
  router.get('/callback', readSession, createCallback(deps));
  router.get('/session', createSessionStatus(deps));
  router.post('/session', createSessionExtension(deps));
  router.post('/logout', createSignOut(deps));
  router.all('/logout', refuseOtherMethods);
  router.use(['/login', '/callback'], createFailureCount(deps.meters?.countSignIn));
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
