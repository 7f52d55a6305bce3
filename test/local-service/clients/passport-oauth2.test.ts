import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Browser } from '../../support/browser.ts';
import { openBench } from '../../support/local-service/service-under-test.ts';
import type { Bench } from '../../support/local-service/service-under-test.ts';
import { startPassportApp } from './passport-app.ts';
import type { PassportApp, PassportTokens } from './passport-app.ts';
import { addressesOf, allowAt, expectWholeFlow, signIn } from './whole-flow.ts';
import type { ApiAnswer, OAuthClient } from './whole-flow.ts';

let bench: Bench;
let strict: Server;
let app: PassportApp;
let library: ReturnType<PassportApp['use']>;
beforeAll(async () => {
  bench = await openBench();
  app = await startPassportApp();
  strict = await bench.start({ redirectUris: [`${app.origin}/auth/callback`] });
  library = app.use(strict);
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await bench[Symbol.asyncDispose]();
});

/** A user of the app, with a browser of their own. */
function createClient(): OAuthClient {
  const browser = new Browser();
  let tokens: PassportTokens;
  return {
    async authorizationUrl() {
      const page = await browser.fetch(`${app.origin}/auth/sign-in`);
      return page.headers.get('location') ?? '';
    },
    async takeCallback(callback) {
      const page = await browser.fetch(callback);
      if (page.status !== 200) throw new Error(`The app answered ${page.status}: ${page.text}`);
      tokens = JSON.parse(page.text) as PassportTokens;
    },
    get: async (url) => getWithLibrary(url, tokens.accessToken),
    async renew() {
      const { refreshToken } = tokens;
      const accessToken = await renewWithLibrary(refreshToken);
      tokens = { accessToken, refreshToken };
    },
  };
}

async function getWithLibrary(url: string, accessToken: string): Promise<ApiAnswer> {
  return new Promise((resolve) => {
    library.get(url, accessToken, (error, text, answer) => {
      // Its types don't say that there is no error where all is well.
      const refusal = error as { statusCode: number; data?: string } | null;
      const status = refusal?.statusCode ?? answer?.statusCode ?? 0;
      resolve({ status, body: JSON.parse(refusal?.data ?? String(text)) });
    });
  });
}

async function renewWithLibrary(refreshToken: string): Promise<string> {
  return new Promise((resolve, reject) => {
    library.getOAuthAccessToken(refreshToken, { grant_type: 'refresh_token' }, (error, accessToken) => {
      if (accessToken === undefined) reject(new Error(JSON.stringify(error)));
      else resolve(accessToken);
    });
  });
}

test('passport-oauth2 with state and PKCE goes the whole way', async () => {
  library.useAuthorizationHeaderforGET(true);
  await expectWholeFlow(createClient(), bench, strict);
});

// The interface knows the Authorization header alone, whatever the switch.
test('passport-oauth2 as it comes sends the access token in the query, where nobody reads it', async () => {
  library.useAuthorizationHeaderforGET(false);
  const client = createClient();
  await signIn(client);
  expect(await client.get(addressesOf(strict).workspaces)).toMatchObject({
    status: 401,
    body: { code: 'UNAUTHORIZED' },
  });
});

test('passport-oauth2 takes no callback of another browser', async () => {
  const callback = await allowAt(await createClient().authorizationUrl());
  await expect(createClient().takeCallback(callback)).rejects.toThrow('The app answered 403');
});
