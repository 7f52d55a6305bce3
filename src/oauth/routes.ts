import { Router, type RequestHandler } from 'express';
import type { Config, Secrets } from '../config/load.ts';
import type { Reloadable } from '../config/reloadable.ts';
import { refuseEmbedding } from '../http/cross-site.ts';
import type { Render } from '../http/templates.ts';
import type { Logger } from '../observability/logger.ts';
import type { RedisClient } from '../redis/client.ts';
import type { SessionServices } from '../session/session-services.ts';
import { createCallback } from './callback.ts';
import { createLogin } from './login.ts';
import { createLogout, refuseOtherMethods } from './logout.ts';
import { countSignInFailure, type OAuthMetrics } from './metrics.ts';
import { createSignInLimit } from './rate-limit.ts';
import type { OAuthServices } from './services.ts';
import { createSessionExtension, createSessionStatus } from './session-status.ts';

export interface AuthDeps extends SessionServices, Pick<OAuthServices, 'oauth' | 'signIns'> {
  readonly config: Config;
  readonly secrets: Reloadable<Secrets>;
  readonly redis: RedisClient;
  readonly metrics: { readonly oauth: OAuthMetrics } | null;
  readonly render: Render;
  readonly log: Logger;
  readonly now: () => number;
}

/** Creates the router for `/auth/*`. `readSession` adds the session to the request for endpoints that need it. */
export function createAuthRouter(deps: AuthDeps, readSession: RequestHandler[]): Router {
  const router = Router({ caseSensitive: true });
  router.get('/login', refuseEmbedding, createSignInLimit(deps), createLogin(deps));
  router.get('/callback', readSession, createCallback(deps));
  router.get('/session', createSessionStatus(deps));
  router.post('/session', createSessionExtension(deps));
  router.post('/logout', createLogout(deps));
  router.all('/logout', refuseOtherMethods);
  router.use(['/login', '/callback'], countSignInFailure(deps.metrics?.oauth ?? null));
  return router;
}
