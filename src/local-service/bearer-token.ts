import type { Request } from 'express';
import type { AccessTokens } from './oauth-store.ts';
import type { Grant } from './grants.ts';
import { ServiceError } from './service-errors.ts';

/** Resolves to the grant behind the call's access token where it covers one of `scopes`. */
export type RequireGrant = (req: Request, scopes: readonly string[]) => Promise<Grant>;

const BEARER = /^Bearer +(?<token>[A-Za-z0-9\-._~+/]+=*)$/i; // RFC 6750 §2.1

/**
 * The guard of the API. Rejects with 401 `UNAUTHORIZED` (there is no token), `TOKEN_INVALID` (it is unknown),
 * `TOKEN_REVOKED` or `TOKEN_EXPIRED`, and 403 `INVALID_SCOPE`, each with the `WWW-Authenticate` of RFC 6750 §3; with
 * StoreUnavailableError where Redis is away.
 */
export function createGrantGuard(tokens: AccessTokens): RequireGrant {
  return async (req, scopes) => {
    if (req.get('authorization') === undefined) {
      throw refusal(401, 'UNAUTHORIZED', 'Send an access token: Authorization: Bearer <ACCESS_TOKEN>');
    }
    const token = bearerTokenOf(req);
    if (token === undefined) {
      throw refusal(401, 'UNAUTHORIZED', 'The Authorization header is not of the form Bearer <ACCESS_TOKEN>');
    }
    const check = await tokens.check(token);
    switch (check.state) {
      case 'unknown':
        throw refusal(401, 'TOKEN_INVALID', 'The access token is unknown', 'invalid_token');
      case 'revoked':
        throw refusal(401, 'TOKEN_REVOKED', 'The access token was revoked', 'invalid_token');
      case 'expired':
        throw refusal(401, 'TOKEN_EXPIRED', 'The access token has expired', 'invalid_token');
      case 'valid':
        if (!scopes.some((scope) => check.grant.scopes.includes(scope))) {
          throw refusal(
            403,
            'INVALID_SCOPE',
            `This needs one of: ${scopes.join(', ')}`,
            'insufficient_scope',
          );
        }
        return check.grant;
    }
  };
}

/** The token in a call's `Authorization: Bearer` header, good or not. */
export function bearerTokenOf(req: Request): string | undefined {
  return BEARER.exec(req.get('authorization') ?? '')?.groups?.['token'];
}

function refusal(status: number, code: string, message: string, error?: string): ServiceError {
  const challenge = error === undefined ? 'Bearer' : `Bearer error="${error}"`;
  return new ServiceError(status, code, message, { headers: { 'www-authenticate': challenge } });
}
