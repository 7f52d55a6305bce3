import { createServer } from 'node:http';
import { RedisStore } from 'connect-redis';
import express from 'express';
import session from 'express-session';
import { createClient } from 'redis';
import { createProxy } from './express-proxy.mjs';
import { listenAndReport, settings } from './peer.mjs';

/** express + express-session + connect-redis + http-proxy-middleware: the usual combination. */

/** @typedef {import('express-session').Session & { grant?: { accessToken: string } }} OurSession */

const client = await createClient({ url: settings['redis'] ?? '' }).connect();

const app = express();
app.disable('x-powered-by');
app.use(
  session({
    store: new RedisStore({ client, prefix: 'express:' }),
    secret: 'a secret of this benchmark',
    resave: false,
    saveUninitialized: false,
    cookie: { httpOnly: true, sameSite: 'lax' },
  }),
);
app.get('/sign-in', (req, res) => {
  const { grant } = /** @type {{ grant: string }} */ (req.query);
  const ours = /** @type {OurSession} */ (req.session);
  ours.grant = /** @type {{ accessToken: string }} */ (JSON.parse(grant));
  res.sendStatus(204);
});
app.use('/api', (req, res, next) => {
  if (/** @type {OurSession} */ (req.session).grant === undefined) res.sendStatus(401);
  else next();
});
app.use(
  '/api',
  createProxy((req) => /** @type {{ session: OurSession }} */ (req).session.grant?.accessToken),
);
await listenAndReport(createServer(app));
