import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { expect, test } from '@jest/globals';
import { AuthorizationCode, type AccessToken, type ModuleOptions } from 'simple-oauth2';
import { useFixture } from '../../support/fixtures.ts';
import { useLocalService } from '../../support/local-service/fixture.ts';
import { APP, endpointUrls, expectOAuthFlow, getWith, signIn, type OAuthClient } from './oauth-flow.ts';

const { fixture, service: strict } = useLocalService();
const compat = useFixture(async () => fixture.start({ compat: true }));

type Options = NonNullable<ModuleOptions['options']>;

interface Choices {
  /** If true, the app restores the refresh token that the library drops. */
  readonly keepsRefreshToken?: boolean;
  readonly secret?: string;
  readonly auth?: Partial<ModuleOptions['auth']>;
}

function createClient(
  server: Server,
  options: Options,
  { keepsRefreshToken = true, secret = APP.secret, auth = {} }: Choices = {},
): OAuthClient {
  const { origin, authorize, token } = endpointUrls(server);
  const library = new AuthorizationCode({
    client: { id: APP.id, secret },
    auth: { tokenHost: origin, tokenPath: token, authorizePath: authorize, ...auth },
    options,
  });
  const state = randomUUID();
  let tokens: AccessToken;
  return {
    authorizationUrl: async () =>
      library.authorizeURL({ redirect_uri: APP.callback, scope: APP.scope, state }),
    async handleCallback({ searchParams }) {
      expect(searchParams.get('state')).toBe(state);
      const code = searchParams.get('code') ?? '';
      tokens = await library.getToken({ code, redirect_uri: APP.callback });
    },
    get: async (url) => getWith(String(tokens.token['access_token']), url),
    async refresh() {
      const before = tokens.token['refresh_token'];
      const refreshed = await tokens.refresh();
      const refresh_token = refreshed.token['refresh_token'] ?? before;
      tokens = keepsRefreshToken ? library.createToken({ ...refreshed.token, refresh_token }) : refreshed;
    },
  };
}

/** Matches a library error that contains the response from the token endpoint. */
const refusal = (error: string) => ({ data: { payload: expect.objectContaining({ error }) } });

test('simple-oauth2 with credentials in the body completes the whole flow', async () => {
  await expectOAuthFlow(createClient(strict, { authorizationMethod: 'body' }), fixture, strict);
});

test('simple-oauth2 needs compatibility mode by default (HTTP Basic)', async () => {
  await expect(signIn(createClient(strict, {}))).rejects.toMatchObject(refusal('invalid_client'));
  await expectOAuthFlow(createClient(compat, {}), fixture, compat);
});

test.each(['body', 'header'] as const)(
  'simple-oauth2 needs compatibility mode for JSON with credentials in the %s',
  async (authorizationMethod) => {
    const options: Options = { bodyFormat: 'json', authorizationMethod };
    await expect(signIn(createClient(strict, options))).rejects.toMatchObject(refusal('invalid_request'));
    await expectOAuthFlow(createClient(compat, options), fixture, compat);
  },
);

test.each(['strict', 'loose'] as const)(
  'compatibility mode accepts a secret with special characters in the %s encoding of simple-oauth2',
  async (credentialsEncodingMode) => {
    const secret = 'a secret: 100%+1/~';
    const service = await fixture.start({ compat: true, clientSecret: secret });
    const client = createClient(service, { credentialsEncodingMode }, { secret });
    await expectOAuthFlow(client, fixture, service);
  },
);

test('simple-oauth2 can use the alternative endpoint paths in compatibility mode', async () => {
  const { authorize, token } = endpointUrls(compat);
  const auth = {
    authorizePath: authorize.replace(/\/$/, ''),
    tokenPath: `${token}/`,
    refreshPath: token.replace(/token$/, 'refresh'),
  };
  const client = createClient(compat, {}, { auth });
  await expectOAuthFlow(client, fixture, compat);
});

// In simple-oauth2, lib/access-token.js looks for the old refresh token in the wrong place.
test('simple-oauth2 drops the refresh token if a refresh returns no new refresh token', async () => {
  const client = createClient(strict, { authorizationMethod: 'body' }, { keepsRefreshToken: false });
  await signIn(client);
  await client.refresh();
  await expect(client.refresh()).rejects.toMatchObject(refusal('invalid_request'));
});

test('simple-oauth2 completes the whole flow without a workaround if refresh tokens rotate', async () => {
  const service = await fixture.start({ rotateRefresh: true });
  const client = createClient(service, { authorizationMethod: 'body' }, { keepsRefreshToken: false });
  await expectOAuthFlow(client, fixture, service);
});
