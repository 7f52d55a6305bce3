import type { Server } from 'node:http';
import { expect, test } from '@jest/globals';
import * as oauth from 'oauth4webapi';
import type { CustomFetch } from 'openid-client';
import { createTokenRequestSender } from '../../../src/oauth/client.ts';
import { toStandardResponse } from '../../../src/oauth/service-quirks.ts';
import { useLocalService } from '../../support/local-service/fixture.ts';
import { APP, addressesOf, expectWholeFlow, signIn, type OAuthClient } from './whole-flow.ts';

const { fixture, service: strict } = useLocalService();

const plainFetch: CustomFetch = async (url, init) => fetch(url, init as RequestInit);
const sendTokenRequest = createTokenRequestSender(10_000);
const dialectFetch: CustomFetch = async (url, init) => toStandardResponse(await sendTokenRequest(url, init));

function createClient(server: Server, ownFetch: CustomFetch, authenticate: oauth.ClientAuth): OAuthClient {
  const { origin, authorize, token } = addressesOf(server);
  const as = { issuer: origin, authorization_endpoint: authorize, token_endpoint: token };
  const client = { client_id: APP.id };
  // oxlint-disable-next-line typescript/no-deprecated -- marked so only to make it stand out
  const insecure = { [oauth.allowInsecureRequests]: true };
  const options = { ...insecure, [oauth.customFetch]: ownFetch };

  const verifier = oauth.generateRandomCodeVerifier();
  const state = oauth.generateRandomState();
  let accessToken = '';
  let refreshToken = '';
  return {
    async authorizationUrl() {
      const url = new URL(authorize);
      url.search = new URLSearchParams({
        client_id: APP.id,
        redirect_uri: APP.callback,
        response_type: 'code',
        scope: APP.scope,
        state,
        code_challenge: await oauth.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }).toString();
      return url.href;
    },
    async takeCallback(callback) {
      const parameters = oauth.validateAuthResponse(as, client, callback, state);
      const response = await oauth.authorizationCodeGrantRequest(
        as,
        client,
        authenticate,
        parameters,
        APP.callback,
        verifier,
        options,
      );
      const tokens = await oauth.processAuthorizationCodeResponse(as, client, response);
      accessToken = tokens.access_token;
      refreshToken = tokens.refresh_token ?? '';
    },
    async get(url) {
      try {
        const at = new URL(url);
        const response = await oauth.protectedResourceRequest(
          accessToken,
          'GET',
          at,
          undefined,
          null,
          insecure,
        );
        return { status: response.status, body: await response.json() };
      } catch (error) {
        if (error instanceof oauth.WWWAuthenticateChallengeError) return { status: error.status };
        throw error;
      }
    },
    async refresh() {
      const response = await oauth.refreshTokenGrantRequest(as, client, authenticate, refreshToken, options);
      const tokens = await oauth.processRefreshTokenResponse(as, client, response);
      accessToken = tokens.access_token;
      refreshToken = tokens.refresh_token ?? refreshToken;
    },
  };
}

const inTheBody = oauth.ClientSecretPost(APP.secret);

test('oauth4webapi with the dialect goes the whole way', async () => {
  await expectWholeFlow(createClient(strict, dialectFetch, inTheBody), fixture, strict);
});

test('oauth4webapi without the dialect refuses an answer without token_type', async () => {
  await expect(signIn(createClient(strict, plainFetch, inTheBody))).rejects.toMatchObject({
    code: 'OAUTH_INVALID_RESPONSE',
    message: expect.stringContaining('"token_type"'),
  });
});

test('oauth4webapi with HTTP Basic is refused, but for the compatibility switch', async () => {
  const basic = oauth.ClientSecretBasic(APP.secret);
  await expect(signIn(createClient(strict, dialectFetch, basic))).rejects.toMatchObject({
    error: 'invalid_client',
  });
  const compat = await fixture.start({ compat: true });
  await expectWholeFlow(createClient(compat, dialectFetch, basic), fixture, compat);
});
