import { fileURLToPath } from 'node:url';
import express from 'express';
import type { Express, RequestHandler } from 'express';
import helmet from 'helmet';
import { AppError } from '../platform/errors.ts';
import type { Logger } from '../platform/log.ts';
import type { RedisClient } from '../platform/redis.ts';
import { logRequest } from '../platform/request-log.ts';
import { createRender } from '../platform/templates.ts';
import { createAccessTokens } from './access-tokens.ts';
import { apiErrorHandler, refusePath, sendApiError } from './api-errors.ts';
import { createAuthorizationCodes } from './authorization-codes.ts';
import { authorizationEndpoint } from './authorization-endpoint.ts';
import { createGrantGuard } from './bearer-token.ts';
import { createBrowserSignIn } from './browser-sign-in.ts';
import { compatibility } from './compat.ts';
import { createFaultStore } from './faults/fault-store.ts';
import { faultsInFront } from './faults/faults.ts';
import { FAULTS_PATH, refuseFaults } from './faults/faults-endpoint.ts';
import { createGrants } from './grants.ts';
import { createPageReader } from './lists.ts';
import type { LocalServiceConfig } from './local-service-config.ts';
import { pageErrorHandler } from './page-errors.ts';
import { createPageTokens } from './page-token.ts';
import { createPages } from './pages.ts';
import { createRefreshTokens } from './refresh-tokens.ts';
import { createSeedWorkspaces } from './seed/workspaces.ts';
import { API_PATH, AUTHORIZATION_PATH, OAUTH_PATH } from './service-paths.ts';
import { tokenEndpoint, tokenErrorHandler } from './token-endpoint.ts';
import { workspaceRoutes } from './workspace-routes.ts';

const STYLESHEET = fileURLToPath(new URL('../../public/local-service.css', import.meta.url));

/**
 * The local service: a strict implementation of the service's whole interface over seed data, with all its state in
 * Redis. `now` is the clock in milliseconds; whatever expires is judged by it. While Redis is away, what needs it
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

  app.use((req, res, next) => {
    logRequest(log, req, res, req.originalUrl, 0);
    res.set('cache-control', 'no-store');
    next();
  });
  app.use(securityHeaders());
  app.use(refuseFragment());

  app.get('/', (_req, res) => void res.send(pages.home()));
  app.get('/healthz', (_req, res) => void res.json({ status: 'ok' }));
  app.get('/local-service.css', (_req, res) => {
    res.sendFile(STYLESHEET);
  });
  app.use((req, _res, next) => {
    // No answer below has a validator: Express would take `*` for that of every one (RFC 9110 §13.1.2).
    delete req.headers['if-none-match'];
    next();
  });

  if (config.compat) app.use(compatibility(config, errors.token));
  if (config.faults) {
    const parts = { grants, codes, accessTokens, refreshTokens, now };
    app.use(faultsInFront(createFaultStore(redis), parts, render, errors, log));
  } else {
    app.all(FAULTS_PATH, refuseFaults());
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

/** A target has no fragment (RFC 9112 §3.2); Express would take what stands before it. */
function refuseFragment(): RequestHandler {
  return (req, res, next) => {
    if (!req.originalUrl.includes('#')) next();
    else sendApiError(res, new AppError(400, 'REQUEST_INVALID', 'The path has a fragment'));
  };
}

/** No script, no frame, nothing from elsewhere. */
function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      // No form-action: Chromium applies it to the redirect after a form as well, which leads to the app.
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
    xFrameOptions: { action: 'deny' },
    // It is served over http, on the developer's own machine.
    strictTransportSecurity: false,
  });
}
