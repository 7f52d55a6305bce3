import { createServer, type RequestListener } from 'node:http';
import { fileURLToPath } from 'node:url';
import express, { type Express, type RequestHandler } from 'express';
import helmet from 'helmet';
import { createAccessLog } from '../http/access-log.ts';
import type { BoundPort } from '../http/listening.ts';
import { createRender } from '../http/templates.ts';
import type { Logger } from '../observability/logger.ts';
import type { RedisClient } from '../redis/client.ts';
import { API_PATH, apiRoutes } from './api.ts';
import { AUTHORIZATION_PATH, authorizationEndpoint } from './authorization-endpoint.ts';
import { createBrowserSignIn } from './browser-sign-in.ts';
import { PATH_WITHOUT_SLASH, compatibility } from './compat.ts';
import type { LocalServiceConfig } from './config.ts';
import {
  ServiceError,
  apiErrorHandler,
  pageErrorHandler,
  refusePath,
  type ErrorHandlers,
} from './error-responses.ts';
import { createFaultStore } from './faults/fault-store.ts';
import { faultsEndpoint, faultsSwitchedOff } from './faults/faults-endpoint.ts';
import { injectFaults } from './faults/inject-faults.ts';
import { createOAuthStore } from './oauth-store.ts';
import { createPages } from './pages.ts';
import { createPageReader } from './pagination.ts';
import { createSeedWorkspaces } from './seed/workspaces.ts';
import { tokenEndpoint, tokenErrorHandler } from './token-endpoint.ts';

const STYLESHEET = fileURLToPath(new URL('../../dist/public/local-service.css', import.meta.url));
const DRAIN_MS = 2_000;

/**
 * Creates the local service: a strict implementation of the real service's entire interface, with seed data. All state is in
 * Redis; while Redis is down, requests that need Redis get a 503. `now` returns the time in ms, for the expiry of codes and tokens.
 */
export function createLocalService(
  config: LocalServiceConfig,
  redis: RedisClient,
  log: Logger,
  now: () => number = Date.now,
): Express {
  const store = createOAuthStore(redis, config, now);
  const signIn = createBrowserSignIn(redis, config.compat ? PATH_WITHOUT_SLASH : AUTHORIZATION_PATH);
  const render = createRender();
  const pages = createPages(render, config);
  const errors: ErrorHandlers = {
    page: pageErrorHandler(log, pages),
    api: apiErrorHandler(log),
    token: tokenErrorHandler(log, config.compat),
  };

  const app = express();
  // Outside the production environment, Express's default error handler would send the stack trace.
  app.set('env', 'production');
  app.disable('x-powered-by');
  app.disable('etag');
  app.disable('query parser');
  app.enable('strict routing');
  app.enable('case sensitive routing');

  app.use(logAndNeverStore(log), securityHeaders(), refuseFragment);
  app.get('/local-service.css', (_req, res) => {
    res.sendFile(STYLESHEET);
  });
  app.use(ignoreValidators);
  app.get('/', (_req, res) => void res.send(pages.home()));
  app.get('/healthz', (_req, res) => void res.json({ status: 'ok' }));

  if (config.compat) app.use(compatibility(config, errors.token));
  if (config.faults) {
    const faults = createFaultStore(redis);
    app.use(injectFaults(faults, store, errors, log, now));
    app.use(faultsEndpoint(faults, render, errors));
  } else {
    app.use(faultsSwitchedOff(errors));
  }
  app.use(authorizationEndpoint({ registration: config, store, signIn, pages }, errors.page));
  app.use(tokenEndpoint(config, store, errors.token, now));
  const seed = createSeedWorkspaces(config.workspaces);
  app.use(API_PATH, apiRoutes(seed, store.accessTokens, createPageReader(redis, now)));
  app.use('/api', refusePath(), errors.api);
  app.use(refusePath(), errors.page);
  return app;
}

/** Serves requests on a bound port. On disposal, requests in progress get at most two seconds to finish. */
export async function serve(listener: RequestListener, bound: BoundPort): Promise<AsyncDisposable> {
  const server = createServer(listener);
  await bound.handOver(server);
  return {
    async [Symbol.asyncDispose]() {
      const timeout = setTimeout(() => server.closeAllConnections(), DRAIN_MS);
      await new Promise((resolve) => server.close(resolve));
      clearTimeout(timeout);
      server.closeAllConnections(); // close() ignores connections opened before the server took over the port
    },
  };
}

function logAndNeverStore(log: Logger): RequestHandler {
  const accessLog = createAccessLog({ log });
  return (req, res, next) => {
    accessLog.track(req, res, req.originalUrl);
    res.set('cache-control', 'no-store');
    next();
  };
}

/** Sets security headers that forbid scripts, framing and resources from other origins. */
function securityHeaders(): RequestHandler {
  return helmet({
    contentSecurityPolicy: {
      useDefaults: false,
      // Omit form-action, because Chromium would also apply it to the redirect to the app after a form submission.
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: ["'self'"],
        baseUri: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
    xFrameOptions: { action: 'deny' },
    // The service uses plain HTTP on the developer's own machine.
    strictTransportSecurity: false,
  });
}

/** Refuses a target with a fragment (RFC 9112 §3.2). Express would serve the part before the fragment. */
const refuseFragment: RequestHandler = (req, _res, next) => {
  if (req.originalUrl.includes('#'))
    throw new ServiceError(400, 'REQUEST_INVALID', 'The path has a fragment');
  next();
};

/** Prevents Express from applying `If-None-Match: *` to responses without a validator (RFC 9110 §13.1.2). */
const ignoreValidators: RequestHandler = (req, _res, next) => {
  delete req.headers['if-none-match'];
  next();
};
