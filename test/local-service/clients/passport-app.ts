import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import express from 'express';
import session from 'express-session';
import { Passport } from 'passport';
import OAuth2Strategy from 'passport-oauth2';
import { originOf } from '../../support/local-service/service-under-test.ts';
import { APP, addressesOf } from './whole-flow.ts';

/** What the library calls the service with beside the sign-in. */
type LibraryOAuth2 = OAuth2Strategy['_oauth2'];

/** The library means apps to reach its client by a strategy of their own. */
class Strategy extends OAuth2Strategy {
  get client(): LibraryOAuth2 {
    return this._oauth2;
  }
}

/** An app that signs its users in by passport; `/auth/callback` answers with their tokens, for the test to see. */
export interface PassportApp extends AsyncDisposable {
  readonly origin: string;
  /** Once the service is there: it has to know the app's address first. */
  use(service: Server): LibraryOAuth2;
}

/** Tokens as passport hands them to the app. */
export interface PassportTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
}

/** Starts it on a port of its own. */
export async function startPassportApp(): Promise<PassportApp> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = originOf(server);
  return {
    origin,
    use(service) {
      const strategy = createStrategy(service, `${origin}/auth/callback`);
      server.on('request', createApp(strategy));
      return strategy.client;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

function createStrategy(service: Server, callbackURL: string): Strategy {
  const { authorize, token } = addressesOf(service);
  return new Strategy(
    {
      authorizationURL: authorize,
      tokenURL: token,
      clientID: APP.id,
      clientSecret: APP.secret,
      callbackURL,
      scope: APP.scope.split(' '),
      state: true,
      pkce: true,
    },
    (accessToken: string, refreshToken: string, _profile: unknown, done: OAuth2Strategy.VerifyCallback) => {
      const tokens: PassportTokens = { accessToken, refreshToken };
      done(null, tokens);
    },
  );
}

function createApp(strategy: Strategy): express.Express {
  const passport = new Passport();
  passport.use(strategy);
  passport.serializeUser((user, done) => done(null, user));
  passport.deserializeUser((user: Express.User, done) => done(null, user));

  const app = express();
  app.use(session({ secret: 'for this test', resave: false, saveUninitialized: false }));
  app.use(passport.session());
  app.get('/auth/sign-in', passport.authenticate('oauth2'));
  app.get('/auth/callback', passport.authenticate('oauth2'), (req, res) => void res.json(req.user));
  return app;
}
