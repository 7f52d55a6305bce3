import OAuth2Server from '@node-oauth/oauth2-server';
import type { AccessTokens } from './oauth-store.ts';
import type { AuthorizationCodes, CodeRecord } from './authorization-codes.ts';
import type { Grants } from './grants.ts';
import { requireVerifier } from './pkce.ts';
import type { RefreshTokens } from './refresh-tokens.ts';
import { sameSecret } from './secrets.ts';
import type { TokenRequest } from './token-request.ts';

const { InvalidClientError, InvalidGrantError, InvalidRequestError, UnsupportedGrantTypeError } =
  OAuth2Server;

/** Everything the grants of OAuth are kept in. */
export interface OAuthStore {
  readonly grants: Grants;
  readonly codes: AuthorizationCodes;
  readonly accessTokens: AccessTokens;
  readonly refreshTokens: RefreshTokens;
}

/** The one registered app. */
export interface RegisteredClient {
  readonly clientId: string;
  readonly clientSecret: string;
}

type Model = OAuth2Server.AuthorizationCodeModel & OAuth2Server.RefreshTokenModel;

/** The library's "user" is only passed through: here it is the grant, from which user and scopes follow. */
type GrantUser = OAuth2Server.User & { readonly grantId: string };

type FoundCode = OAuth2Server.AuthorizationCode & { readonly record: CodeRecord };

/** The library would judge expiry by its own clock; ours has judged it before. */
const NEVER = new Date(8.64e15);

const GRANT_TYPES = ['authorization_code', 'refresh_token'];

/**
 * The model of @node-oauth/oauth2-server for one token request. The library brings the two grants, their steps
 * and its own second look at each; the model brings the store, and judges first what the library would answer with
 * another error than the interface, or too late. Rejects with StoreUnavailableError where Redis is away.
 */
export function createOAuthModel(
  registered: RegisteredClient,
  store: OAuthStore,
  request: TokenRequest,
  now: () => number,
): Model {
  const client: OAuth2Server.Client = {
    id: registered.clientId,
    grants: GRANT_TYPES,
  };

  /** The grant that a code or a refresh token stands for, where it is still one of this app. */
  const requireGrant = async (grantId: string): Promise<void> => {
    const grant = await store.grants.find(grantId);
    if (grant === undefined) throw new InvalidGrantError('What the user allowed was revoked.');
    if (grant.clientId !== registered.clientId)
      throw new InvalidGrantError('It was issued to another client.');
  };

  /** Someone else has had this code (RFC 6749 §4.1.2): nothing that came of it can be trusted. */
  const revokeReplayed = async ({ grantId }: CodeRecord): Promise<Error> => {
    await store.grants.revoke(grantId);
    return new InvalidGrantError('The authorization code was already used; what it gave is revoked.');
  };

  return {
    async getClient(id, secret) {
      const known = sameSecret(id, registered.clientId) && sameSecret(secret, registered.clientSecret);
      if (!known) throw new InvalidClientError('The client_id is unknown, or this is not its client_secret.');
      // Judged here, where the client is known: the library knows more grants, and takes an odd name for malformed.
      if (request.grant_type !== undefined && !GRANT_TYPES.includes(request.grant_type)) {
        throw new UnsupportedGrantTypeError('Use authorization_code or refresh_token.');
      }
      return client;
    },

    async getAuthorizationCode(code) {
      if (request.redirect_uri === undefined) throw new InvalidRequestError('redirect_uri is missing.');
      const record = await store.codes.find(code);
      if (record === undefined) throw new InvalidGrantError('The authorization code is invalid.');
      await requireGrant(record.grantId);
      if (await store.codes.isSpent(code)) throw await revokeReplayed(record);
      if (now() >= record.expiresAt) throw new InvalidGrantError('The authorization code has expired.');
      if (request.redirect_uri !== record.redirectUri) {
        throw new InvalidGrantError('redirect_uri is not the one of the authorization request.');
      }
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
      // Somebody may have spent it since it was found.
      if (!(await store.codes.claim(code.authorizationCode))) {
        throw await revokeReplayed((code as FoundCode).record);
      }
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

    revokeToken: (token) => store.refreshTokens.end(token.refreshToken),

    async saveToken(token, _client, user) {
      const { grantId } = user as GrantUser;
      await store.grants.keep(grantId);
      const [accessToken, refreshToken] = await Promise.all([
        store.accessTokens.issue(grantId),
        token.refreshToken === undefined ? undefined : store.refreshTokens.issue(grantId),
      ]);
      return { accessToken, client, user, ...(refreshToken !== undefined && { refreshToken }) };
    },

    // Asked for by the types and the endpoints of the library that aren't used: ours need rules it doesn't know.
    getAccessToken: async () => null,
    saveAuthorizationCode: async () => null,
  };
}
