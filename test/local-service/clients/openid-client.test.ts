import type { Server } from 'node:http';
import { expect, test } from '@jest/globals';
import * as openid from 'openid-client';
import { createTokenRequestSender } from '../../../src/oauth/client.ts';
import { toStandardResponse } from '../../../src/oauth/service-quirks.ts';
import { useLocalService } from '../../support/local-service/fixture.ts';
import { APP, addressesOf, expectWholeFlow, signIn, type OAuthClient } from './whole-flow.ts';

const { fixture, service: strict } = useLocalService();

interface Choices {
  readonly dialect: boolean;
  readonly authenticate?: openid.ClientAuth;
}

const plainFetch: openid.CustomFetch = async (url, init) => fetch(url, init as RequestInit);
const sendTokenRequest = createTokenRequestSender(10_000);
const dialectFetch: openid.CustomFetch = async (url, init) =>
  toStandardResponse(await sendTokenRequest(url, init));

function createClient(server: Server, { dialect, authenticate }: Choices): OAuthClient {
  const { origin, authorize, token } = addressesOf(server);
  const metadata = { issuer: origin, authorization_endpoint: authorize, token_endpoint: token };
  const configuration = new openid.Configuration(metadata, APP.id, APP.secret, authenticate);
  // oxlint-disable-next-line typescript/no-deprecated -- marked so only to make it stand out
  openid.allowInsecureRequests(configuration);
  // The dialect is the token endpoint's; calls of the API go through the same hook.
  const tokenFetch = dialect ? dialectFetch : plainFetch;
  configuration[openid.customFetch] = async (url, init) =>
    (url === token ? tokenFetch : plainFetch)(url, init);

  const verifier = openid.randomPKCECodeVerifier();
  const state = openid.randomState();
  let accessToken = '';
  let refreshToken = '';
  return {
    async authorizationUrl() {
      const parameters = {
        redirect_uri: APP.callback,
        scope: APP.scope,
        state,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      };
      return openid.buildAuthorizationUrl(configuration, parameters).href;
    },
    async takeCallback(callback) {
      const checks = { expectedState: state, pkceCodeVerifier: verifier };
      const response = await openid.authorizationCodeGrant(configuration, callback, checks);
      accessToken = response.access_token;
      refreshToken = response.refresh_token ?? '';
    },
    async get(url) {
      try {
        const response = await openid.fetchProtectedResource(configuration, accessToken, new URL(url), 'GET');
        return { status: response.status, body: await response.json() };
      } catch (error) {
        if (error instanceof openid.WWWAuthenticateChallengeError) return { status: error.status };
        throw error;
      }
    },
    async refresh() {
      const response = await openid.refreshTokenGrant(configuration, refreshToken);
      accessToken = response.access_token;
      refreshToken = response.refresh_token ?? refreshToken;
    },
  };
}

test('openid-client with the dialect goes the whole way', async () => {
  await expectWholeFlow(createClient(strict, { dialect: true }), fixture, strict);
});

test('openid-client without the dialect refuses an answer without token_type', async () => {
  await expect(signIn(createClient(strict, { dialect: false }))).rejects.toMatchObject({
    code: 'OAUTH_INVALID_RESPONSE',
    cause: { message: expect.stringContaining('"token_type"') },
  });
});

test('openid-client with HTTP Basic is refused, but for the compatibility switch', async () => {
  const authenticate = openid.ClientSecretBasic(APP.secret);
  await expect(signIn(createClient(strict, { dialect: true, authenticate }))).rejects.toMatchObject({
    error: 'invalid_client',
  });
  const compat = await fixture.start({ compat: true });
  await expectWholeFlow(createClient(compat, { dialect: true, authenticate }), fixture, compat);
});
