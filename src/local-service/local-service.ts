import { fileURLToPath } from 'node:url';
import express from 'express';
import type { Express } from 'express';
import type { Logger } from '../observability/logger.ts';
import type { RedisClient } from '../redis/client.ts';
import { createRender } from '../http/templates.ts';
import { createAccessTokens } from './oauth-store.ts';
import { apiErrorHandler, refusePath } from './error-responses.ts';
import { createAuthorizationCodes } from './authorization-codes.ts';
import { authorizationEndpoint } from './authorization-endpoint.ts';
import { createGrantGuard } from './bearer-token.ts';
import { createBrowserSignIn } from './browser-sign-in.ts';
import { compatibility } from './compat.ts';
import { everyRequest, ignoreValidators } from './every-request.ts';
import { createFaultStore } from './faults/fault-store.ts';
import { faultsInFront } from './faults/faults.ts';
import { faultsSwitchedOff } from './faults/faults-endpoint.ts';
import { createGrants } from './grants.ts';
import { createPageReader } from './pagination.ts';
import type { LocalServiceConfig } from './config.ts';
import { pageErrorHandler } from './page-errors.ts';
import { createPageTokens } from './page-token.ts';
import { createPages } from './pages.ts';
import { createRefreshTokens } from './refresh-tokens.ts';
import { createSeedWorkspaces } from './seed/workspaces.ts';
import { API_PATH, AUTHORIZATION_PATH, OAUTH_PATH } from './service-paths.ts';
import { tokenEndpoint, tokenErrorHandler } from './token-endpoint.ts';
import { workspaceRoutes } from './api.ts';

const STYLESHEET = fileURLToPath(new URL('../../public/local-service.css', import.meta.url));

/**
 * The local service: a strict implementation of the service's whole interface over seed data, with all its state in
 * Redis. `now` is the clock in milliseconds, by which codes and tokens expire. While Redis is away, what needs it
 * is answered with 503.
 */
export function createLocalService(
  config: LocalServiceConfig,
  redis: RedisClient,
  log: Logger,
  now: () => number = Date.now,
): Express {
  const grants = createGrants(redis);
  const codes = createAuthorizationCodes(redis, config.codeSeconds, now);
  const accessTokens = createAccessTokens(redis, grants, config.accessTokenSeconds, now);
  const refreshTokens = createRefreshTokens(redis, now);
  const signIn = createBrowserSignIn(redis, config.compat ? OAUTH_PATH : AUTHORIZATION_PATH);
  const render = createRender();
  const pages = createPages(render, config);
  const errors = {
    page: pageErrorHandler(log, pages),
    api: apiErrorHandler(log),
    token: tokenErrorHandler(log, config.compat),
  };

  const app = express();
  // Express's own last resort would put the stack into the answer.
  app.set('env', 'production');
  app.disable('x-powered-by');
  app.disable('etag');
  app.disable('query parser');
  app.enable('strict routing');
  app.enable('case sensitive routing');

  app.use(everyRequest(log));

  app.get('/local-service.css', (_req, res) => {
    res.sendFile(STYLESHEET);
  });
  app.use(ignoreValidators());
  app.get('/', (_req, res) => void res.send(pages.home()));
  app.get('/healthz', (_req, res) => void res.json({ status: 'ok' }));

  if (config.compat) app.use(compatibility(config, errors.token));
  if (config.faults) {
    const parts = { grants, codes, accessTokens, refreshTokens, now };
    app.use(faultsInFront(createFaultStore(redis), parts, render, errors, log));
  } else {
    app.use(faultsSwitchedOff(errors));
  }
  app.use(authorizationEndpoint({ registration: config, grants, codes, signIn, pages }, errors.page));
  app.use(tokenEndpoint(config, { grants, codes, accessTokens, refreshTokens }, errors.token, now));
  const readPage = createPageReader(createPageTokens(redis, now));
  app.use(
    API_PATH,
    workspaceRoutes(createSeedWorkspaces(config.workspaces), createGrantGuard(accessTokens), readPage),
  );
  app.use('/api', refusePath(), errors.api);
  app.use(refusePath(), errors.page);
  return app;
}
