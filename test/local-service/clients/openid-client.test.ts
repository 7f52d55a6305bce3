import { describe, expect, test } from '@jest/globals';
import * as oauth from 'oauth4webapi';
import * as openid from 'openid-client';
import { createTokenRequestSender } from '../../../src/oauth/client.ts';
import { toStandardResponse } from '../../../src/oauth/service-quirks.ts';
import { useFixture } from '../../support/fixtures.ts';
import { useLocalService } from '../../support/local-service/fixture.ts';
import { APP, endpointUrls, expectOAuthFlow, signIn, type OAuthClient } from './oauth-flow.ts';

const { fixture, service: strict } = useLocalService();
const compat = useFixture(async () => fixture.start({ compat: true }));

const plainFetch: openid.CustomFetch = async (url, init) => fetch(url, init as RequestInit);
const sendTokenRequest = createTokenRequestSender(10_000);
const dialectFetch: openid.CustomFetch = async (url, init) =>
  toStandardResponse(await sendTokenRequest(url, init));

/** The URLs of a service, the function that sends token requests, and the method of client authentication. */
interface Settings {
  readonly addresses: ReturnType<typeof endpointUrls>;
  readonly tokenFetch: openid.CustomFetch;
  readonly authentication: 'body' | 'basic';
}

function createOpenidClient({ addresses, tokenFetch, authentication }: Settings): OAuthClient {
  const { origin, authorize, token } = addresses;
  const metadata = { issuer: origin, authorization_endpoint: authorize, token_endpoint: token };
  const basic = authentication === 'basic' ? openid.ClientSecretBasic(APP.secret) : undefined;
  const configuration = new openid.Configuration(metadata, APP.id, APP.secret, basic);
  // oxlint-disable-next-line typescript/no-deprecated -- deprecated only to warn developers; this service runs on loopback
  openid.allowInsecureRequests(configuration);
  // Only token responses need conversion, but API requests use the same hook.
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
    async handleCallback(callback) {
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

function createOauth4webapiClient({ addresses, tokenFetch, authentication }: Settings): OAuthClient {
  const { origin, authorize, token } = addresses;
  const authenticate =
    authentication === 'basic' ? oauth.ClientSecretBasic(APP.secret) : oauth.ClientSecretPost(APP.secret);
  const as = { issuer: origin, authorization_endpoint: authorize, token_endpoint: token };
  const client = { client_id: APP.id };
  // oxlint-disable-next-line typescript/no-deprecated -- deprecated only to warn developers; this service runs on loopback
  const insecure = { [oauth.allowInsecureRequests]: true };
  const options = { ...insecure, [oauth.customFetch]: tokenFetch };

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
    async handleCallback(callback) {
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
        const response = await oauth.protectedResourceRequest(
          accessToken,
          'GET',
          new URL(url),
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

describe.each([
  ['openid-client', createOpenidClient],
  ['oauth4webapi', createOauth4webapiClient],
])('%s', (_library, createClient) => {
  const dialectTo = (server: typeof strict, authentication: Settings['authentication']) =>
    createClient({ addresses: endpointUrls(server), tokenFetch: dialectFetch, authentication });

  test('completes the whole flow if token responses are converted to the standard format', async () => {
    await expectOAuthFlow(dialectTo(strict, 'body'), fixture, strict);
  });

  test('refuses an unconverted token response, which has no token_type', async () => {
    const addresses = endpointUrls(strict);
    const client = createClient({ addresses, tokenFetch: plainFetch, authentication: 'body' });
    const error = (await signIn(client).catch((thrown: unknown) => thrown)) as Error;
    expect(error).toMatchObject({ code: 'OAUTH_INVALID_RESPONSE' });
    // openid-client wraps the oauth4webapi error.
    expect(`${error.message} ${String(error.cause)}`).toContain('"token_type"');
  });

  test('needs compatibility mode for HTTP Basic', async () => {
    await expect(signIn(dialectTo(strict, 'basic'))).rejects.toMatchObject({ error: 'invalid_client' });
    await expectOAuthFlow(dialectTo(compat, 'basic'), fixture, compat);
  });
});
