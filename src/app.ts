import type { RequestListener } from 'node:http';
import express, { type Express, type Request, type RequestHandler, type Response } from 'express';
import { HOME } from './oauth/login.ts';
import { requireSession, currentSessionOrThrow, redirectEndedSession } from './oauth/require-session.ts';
import { createAuthRouter } from './oauth/routes.ts';
import { createConsoleRouter } from './console/routes.ts';
import { createGateway } from './gateway/handler.ts';
import { createErrorPages, pageNotFound, refuseTrace } from './http/error-pages.ts';
import { sendPage } from './http/compression.ts';
import { refuseEmbedding } from './http/cross-site.ts';
import { createHealthRouter } from './observability/health.ts';
import { createSecurityHeaders } from './http/security-headers.ts';
import { isAnyMasterFull, servesSessions } from './redis/probe.ts';
import { refuseUnknownPaths } from './routes.ts';
import type { Services } from './services.ts';
import { sessionLogId } from './session/events.ts';
import { sessionEndsAt } from './session/record.ts';
import { createSessionMiddleware, currentSession } from './session/express-session.ts';
import { createExportsRouter } from './workspaces/export/routes.ts';
import { createWorkspacesRouter } from './workspaces/routes.ts';

/** Creates the Express app. The app also mounts the gateway, so that tests don't need server.ts. */
export function createApp(
  services: Services,
  gateway: RequestListener = createGateway(services),
  isDraining: () => boolean = () => false,
): Express {
  const { config, log, now, accessLog, assets, render, cookie, redis, workspaces } = services;
  const app = express();
  app.disable('x-powered-by');
  app.disable('etag'); // pages are never cached, and an asset's URL changes with its content
  app.set('trust proxy', config.trustProxy);
  app.enable('case sensitive routing'); // RFC 3986 §6.2.2.1
  // Take the scheme from PUBLIC_URL. Otherwise, express-session omits the cookie behind a proxy not counted in TRUST_PROXY.
  Object.defineProperty(app.request, 'secure', { get: () => config.isHttps });

  const readSession = createSessionMiddleware({ ...services, prefix: config.redisPrefix });

  const trackRequest: RequestHandler = (req, res, next) => {
    const request = accessLog.track(req, res, req.originalUrl);
    const sent = cookie.read(req.headers.cookie);
    if (sent !== null) request.session = sessionLogId(sent.id);
    next();
  };

  // Every request
  app.use('/api', gateway);
  app.use(trackRequest);
  app.use(createSecurityHeaders({ https: config.isHttps }));
  app.use(refuseTrace);
  app.use(refuseUnknownPaths);
  app.use(
    createHealthRouter({
      servesSessions: async () => servesSessions(redis, services.readSession, config.redisPrefix),
      isRedisFull: async () => isAnyMasterFull(redis),
      isDraining,
      metrics: services.metrics?.health ?? null,
    }),
  );

  // Routes for all users
  app.use(assets.serve);
  app.get('/', readSession, (req: Request, res: Response) => {
    if (currentSession(req) === null)
      return sendPage(req, res, render('landing', { title: 'Cloakroom', signedIn: false }));
    return res.redirect(303, HOME);
  });
  app.use('/auth', createAuthRouter(services, readSession));

  // Routes for signed-in users
  const signedIn = [refuseEmbedding, ...readSession, requireSession];
  /** Returns the time at which the session ends. Pages use this time to detect that their session has been replaced. */
  const sessionEnd = (req: Request) =>
    sessionEndsAt(currentSessionOrThrow(req).record, config.sessionMaxSeconds);
  app.use(
    createConsoleRouter({
      signedIn,
      sessionEnd,
      render,
      assets,
      publicOrigin: config.publicOrigin,
      cookieName: cookie.name,
    }),
  );
  const lists = { signedIn, currentSession: currentSessionOrThrow, kinds: config.workspaceItems };
  app.use(createExportsRouter({ ...lists, now, readAllItems: workspaces.readAllItems }));
  app.use(createWorkspacesRouter({ ...lists, ...workspaces, sessionEnd, render, pageSize: config.pageSize }));

  // Errors
  app.use(pageNotFound);
  app.use(redirectEndedSession);
  app.use(createErrorPages({ render, log, isSignedIn: (req) => cookie.read(req.headers.cookie) !== null }));
  return app;
}
