import { createHash } from 'node:crypto';
import OAuth2Server from '@node-oauth/oauth2-server';
import type { LocalServiceConfig } from './config.ts';
import type { CodeRecord, OAuthStore } from './oauth-store.ts';
import { isSameSecret } from './secrets.ts';

const { InvalidClientError, InvalidGrantError, InvalidRequestError, UnsupportedGrantTypeError } =
  OAuth2Server;

/** The only registered app. */
export type RegisteredClient = Pick<LocalServiceConfig, 'clientId' | 'clientSecret'>;

/** The token request fields that this service uses. All other fields are ignored (RFC 6749 §3.2). */
export const TOKEN_FIELDS = [
  'client_id',
  'client_secret',
  'grant_type',
  'redirect_uri',
  'code',
  'code_verifier',
  'refresh_token',
] as const;

/** The fields sent with a value. A field without a value is treated as absent (RFC 6749 §3.2). */
export type TokenRequest = Partial<Record<(typeof TOKEN_FIELDS)[number], string>>;

type Model = OAuth2Server.AuthorizationCodeModel & OAuth2Server.RefreshTokenModel;

/** The library passes its "user" through unchanged. Here, the "user" is the grant, which names the user and scopes. */
type GrantUser = OAuth2Server.User & { readonly grantId: string };

type FoundCode = OAuth2Server.AuthorizationCode & { readonly record: CodeRecord };

/** Keeps the library from checking expiry with its own clock. The model has already checked the expiry with `now`. */
const NEVER = new Date(8.64e15);

const GRANT_TYPES = ['authorization_code', 'refresh_token'];

/**
 * Creates the @node-oauth/oauth2-server model for one token request. The library runs the steps of both grant types. The model
 * gives the library access to the store, and performs the checks that the library performs too late or reports with the wrong error.
 * Methods reject with StoreUnavailableError while Redis is down.
 */
export function createOAuthModel(
  registered: RegisteredClient,
  store: OAuthStore,
  request: Readonly<TokenRequest>,
  now: () => number,
): Model {
  const client: OAuth2Server.Client = { id: registered.clientId, grants: GRANT_TYPES };

  /** Checks that the grant for a code or refresh token has not been revoked and belongs to this app. */
  const requireGrant = async (grantId: string): Promise<void> => {
    const grant = await store.grants.find(grantId);
    if (grant === undefined) throw new InvalidGrantError('The grant was revoked.');
    if (grant.clientId !== registered.clientId)
      throw new InvalidGrantError('The grant belongs to another client.');
  };

  /** Revokes the grant for a replayed code (RFC 6749 §4.1.2). A code that is sent twice may have been stolen. */
  const revokeReplayed = async ({ grantId }: CodeRecord): Promise<Error> => {
    await store.grants.revoke(grantId);
    return new InvalidGrantError('The authorization code was already used. Its tokens are revoked.');
  };

  return {
    async getClient(id, secret) {
      const known = isSameSecret(id, registered.clientId) && isSameSecret(secret, registered.clientSecret);
      if (!known) throw new InvalidClientError('The client_id is unknown, or the client_secret is wrong.');
      // The library supports additional grant types, and reports a type with unusual characters as malformed instead of unsupported.
      if (request.grant_type !== undefined && !GRANT_TYPES.includes(request.grant_type))
        throw new UnsupportedGrantTypeError('Use authorization_code or refresh_token.');
      return client;
    },

    async getAuthorizationCode(code) {
      if (request.redirect_uri === undefined) throw new InvalidRequestError('redirect_uri is missing.');
      const record = await store.codes.find(code);
      if (record === undefined) throw new InvalidGrantError('The authorization code is invalid.');
      await requireGrant(record.grantId);
      if (await store.codes.isUsed(code)) throw await revokeReplayed(record);
      if (now() >= record.expiresAt) throw new InvalidGrantError('The authorization code has expired.');
      if (request.redirect_uri !== record.redirectUri)
        throw new InvalidGrantError('redirect_uri differs from the authorization request.');
      requireVerifier(record.codeChallenge, request.code_verifier);
      return {
        authorizationCode: code,
        expiresAt: NEVER,
        redirectUri: record.redirectUri,
        client,
        user: { grantId: record.grantId },
        record,
        ...(record.codeChallenge !== undefined && {
          codeChallenge: record.codeChallenge,
          codeChallengeMethod: 'S256',
        }),
      };
    },

    async revokeAuthorizationCode(code) {
      // Another request may have used the code since getAuthorizationCode found it.
      if (!(await store.codes.use(code.authorizationCode)))
        throw await revokeReplayed((code as FoundCode).record);
      return true;
    },

    async getRefreshToken(refreshToken) {
      const grantId = await store.refreshTokens.find(refreshToken);
      if (grantId === undefined)
        throw new InvalidGrantError('The refresh token is invalid, used or expired.');
      await requireGrant(grantId);
      await store.refreshTokens.keep(refreshToken, grantId);
      return { refreshToken, client, user: { grantId } };
    },

    revokeToken: (token) => store.refreshTokens.revoke(token.refreshToken),

    async saveToken(token, _client, user) {
      const { grantId } = user as GrantUser;
      await store.grants.keep(grantId);
      const [accessToken, refreshToken] = await Promise.all([
        store.accessTokens.issue(grantId),
        token.refreshToken === undefined ? undefined : store.refreshTokens.issue(grantId),
      ]);
      return { accessToken, client, user, ...(refreshToken !== undefined && { refreshToken }) };
    },

    // The library's types require these methods, but this service uses no part of the library that calls them.
    getAccessToken: async () => null,
    saveAuthorizationCode: async () => null,
  };
}

const CODE_VERIFIER = /^[A-Za-z0-9\-._~]{43,128}$/; // RFC 7636 §4.1

/**
 * Throws InvalidGrantError if the verifier doesn't match the challenge (RFC 7636 §4.6), or if only one of them is present (RFC
 * 9700 §4.8.2). The library makes these checks only after using up the code, but a faulty request must not use up the code.
 */
function requireVerifier(challenge: string | undefined, verifier: string | undefined): void {
  if (challenge === undefined) {
    if (verifier === undefined) return;
    throw new InvalidGrantError(
      'The authorization request had no code_challenge, so do not send a code_verifier.',
    );
  }
  if (verifier === undefined)
    throw new InvalidGrantError('code_verifier is missing, but the code has a code_challenge.');
  const actual = createHash('sha256').update(verifier).digest('base64url');
  if (!CODE_VERIFIER.test(verifier) || !isSameSecret(actual, challenge))
    throw new InvalidGrantError('code_verifier does not match the code_challenge.');
}
