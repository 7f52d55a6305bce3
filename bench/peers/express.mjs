import { createServer } from 'node:http';
import { RedisStore } from 'connect-redis';
import express from 'express';
import session from 'express-session';
import { createClient } from 'redis';
import { createProxy } from './express-proxy.mjs';
import { listenAndReport, settings } from './peer.mjs';

/** The usual combination on Express: express-session, connect-redis and http-proxy-middleware. */

/** @typedef {import('express-session').Session & { grant?: { accessToken: string } }} GrantSession */

const client = await createClient({ url: settings['redis'] ?? '' }).connect();

const app = express();
app.disable('x-powered-by');
app.use(
  session({
    store: new RedisStore({ client, prefix: 'express:' }),
    secret: 'a secret for this benchmark',
    resave: false,
    saveUninitialized: false,
    cookie: { httpOnly: true, sameSite: 'lax' },
  }),
);
app.get('/sign-in', (req, res) => {
  const { grant } = /** @type {{ grant: string }} */ (req.query);
  const ownSession = /** @type {GrantSession} */ (req.session);
  ownSession.grant = /** @type {{ accessToken: string }} */ (JSON.parse(grant));
  res.sendStatus(204);
});
app.use('/api', (req, res, next) => {
  if (/** @type {GrantSession} */ (req.session).grant === undefined) res.sendStatus(401);
  else next();
});
app.use(
  '/api',
  createProxy((req) => /** @type {{ session: GrantSession }} */ (req).session.grant?.accessToken),
);
await listenAndReport(createServer(app));
