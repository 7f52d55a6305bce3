import { once } from 'node:events';
import { createServer } from 'node:http';
import { beforeAll, expect, test } from '@jest/globals';
import express from 'express';
import session from 'express-session';
import { Passport } from 'passport';
import OAuth2Strategy from 'passport-oauth2';
import { Browser } from '../../support/browser.ts';
import { useFixture } from '../../support/fixtures.ts';
import { startServiceFixture } from '../../support/local-service/fixture.ts';
import { originOf } from '../../support/local-service/requests.ts';
import {
  APP,
  endpointUrls,
  authorizeApp,
  expectOAuthFlow,
  signIn,
  type ApiResponse,
  type OAuthClient,
} from './oauth-flow.ts';

/** The library expects apps to access its client through a subclass. */
class Strategy extends OAuth2Strategy {
  get client() {
    return this._oauth2;
  }
}

/** The tokens that passport passes to the app. */
interface PassportTokens {
  readonly accessToken: string;
  readonly refreshToken: string;
}

const fixture = useFixture(startServiceFixture);
/** An app that signs its users in with passport. `/auth/callback` responds with the user's tokens. */
const app = useFixture(async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
});
const service = useFixture(async () => fixture.start({ redirectUris: [`${originOf(app)}/auth/callback`] }));
let library: Strategy['client'];
beforeAll(() => {
  const strategy = createStrategy();
  library = strategy.client;
  app.on('request', createApp(strategy));
});

function createStrategy(): Strategy {
  const { authorize, token } = endpointUrls(service);
  return new Strategy(
    {
      authorizationURL: authorize,
      tokenURL: token,
      clientID: APP.id,
      clientSecret: APP.secret,
      callbackURL: `${originOf(app)}/auth/callback`,
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

  return express()
    .use(session({ secret: 'for this test', resave: false, saveUninitialized: false }))
    .use(passport.session())
    .get('/auth/sign-in', passport.authenticate('oauth2'))
    .get('/auth/callback', passport.authenticate('oauth2'), (req, res) => void res.json(req.user));
}

/** Creates an app user with a separate browser. */
function createClient(): OAuthClient {
  const browser = new Browser();
  let tokens: PassportTokens;
  return {
    async authorizationUrl() {
      const page = await browser.fetch(`${originOf(app)}/auth/sign-in`);
      return page.headers.get('location') ?? '';
    },
    async handleCallback(callback) {
      const page = await browser.fetch(callback);
      if (page.status !== 200) throw new Error(`The app responded with ${page.status}: ${page.text}`);
      tokens = JSON.parse(page.text) as PassportTokens;
    },
    get: async (url) => getWithLibrary(url, tokens.accessToken),
    async refresh() {
      const { refreshToken } = tokens;
      const accessToken = await refreshWithLibrary(refreshToken);
      tokens = { accessToken, refreshToken };
    },
  };
}

async function getWithLibrary(url: string, accessToken: string): Promise<ApiResponse> {
  return new Promise((resolve) => {
    library.get(url, accessToken, (error, text, response) => {
      // The library's types do not allow `error` to be null.
      const refusal = error as { statusCode: number; data?: string } | null;
      const status = refusal?.statusCode ?? response?.statusCode ?? 0;
      resolve({ status, body: JSON.parse(refusal?.data ?? String(text)) });
    });
  });
}

async function refreshWithLibrary(refreshToken: string): Promise<string> {
  return new Promise((resolve, reject) => {
    library.getOAuthAccessToken(refreshToken, { grant_type: 'refresh_token' }, (error, accessToken) => {
      if (accessToken === undefined) reject(new Error(JSON.stringify(error)));
      else resolve(accessToken);
    });
  });
}

test('passport-oauth2 with state and PKCE completes the whole flow', async () => {
  library.useAuthorizationHeaderforGET(true);
  await expectOAuthFlow(createClient(), fixture, service);
});

test('by default, passport-oauth2 sends the access token in the query, which the service ignores', async () => {
  library.useAuthorizationHeaderforGET(false);
  const client = createClient();
  await signIn(client);
  expect(await client.get(endpointUrls(service).workspaces)).toMatchObject({
    status: 401,
    body: { code: 'UNAUTHORIZED' },
  });
});

test('passport-oauth2 refuses a callback from another browser', async () => {
  const callback = await authorizeApp(await createClient().authorizationUrl());
  await expect(createClient().handleCallback(callback)).rejects.toThrow('The app responded with 403');
});
