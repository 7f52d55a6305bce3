import { createServer } from 'node:http';
import { RedisStore } from 'connect-redis';
import express from 'express';
import { auth } from 'express-openid-connect';
import { createClient } from 'redis';
import { createProxy } from './express-proxy.mjs';
import { listenAndReport, settings } from './peer.mjs';

/** express-openid-connect with sessions in Redis, and http-proxy-middleware. */

/** @typedef {{ oidc: import('express-openid-connect').RequestContext }} SignedIn */

const client = await createClient({ url: settings['redis'] ?? '' }).connect();

const app = express();
app.disable('x-powered-by');
app.use(
  auth({
    issuerBaseURL: settings['issuer'] ?? '',
    baseURL: 'http://localhost:3000',
    clientID: settings['clientId'] ?? '',
    clientSecret: settings['clientSecret'] ?? '',
    secret: 'a secret for this benchmark, long enough for express-openid-connect',
    authRequired: false,
    authorizationParams: { response_type: 'code', scope: 'openid' },
    session: { store: new RedisStore({ client, prefix: 'openid:' }) },
  }),
);
app.use('/api', (req, res, next) => {
  if (/** @type {SignedIn} */ (/** @type {unknown} */ (req)).oidc.isAuthenticated()) next();
  else res.sendStatus(401);
});
app.use(
  '/api',
  createProxy((req) => /** @type {SignedIn} */ (req).oidc.accessToken?.access_token),
);
await listenAndReport(createServer(app));
