import OAuth2Server from '@node-oauth/oauth2-server';
import { Router, type ErrorRequestHandler, type Request, type RequestHandler } from 'express';
import type { Logger } from '../observability/logger.ts';
import type { LocalServiceConfig } from './config.ts';
import { ServiceError, apiErrorHandler, refuseMethod } from './error-responses.ts';
import { TOKEN_FIELDS, createOAuthModel, type TokenRequest } from './oauth-model.ts';
import { REFRESH_IDLE_SECONDS, type OAuthStore } from './oauth-store.ts';
import { formFields, hasRepeatedName, readForm } from './request-parameters.ts';

const { InvalidClientError, InvalidRequestError, OAuthError, ServerError } = OAuth2Server;

export const TOKEN_PATH = '/api/public/v1/authorization/oauth2/token';

/**
 * Serves `POST …/oauth2/token` (RFC 6749 §3.2, interface 4.2 and 4.3). Responses contain only the fields in the interface,
 * without `token_type` or `scope`. `errors` is a tokenErrorHandler.
 */
export function tokenEndpoint(
  config: LocalServiceConfig,
  store: OAuthStore,
  errors: ErrorRequestHandler,
  now: () => number,
): Router {
  const router = Router({ strict: true, caseSensitive: true });
  router.post(TOKEN_PATH, readForm(), issueTokens(config, store, now));
  router.all(TOKEN_PATH, refuseMethod('POST'));
  router.use(errors);
  return router;
}

/**
 * Responds with one of the four errors in section 7 of the interface: `invalid_client` with a 401, and the other errors with a 400.
 * Failures of the service itself get a 503 or 500 in the API format. If `takesBasic` is set, a 401 offers HTTP Basic (§5.2).
 */
export function tokenErrorHandler(log: Logger, takesBasic: boolean): ErrorRequestHandler {
  const handleAsApi = apiErrorHandler(log);
  return (thrown: unknown, req, res, next) => {
    const error = toTokenError(thrown);
    if (!(error instanceof OAuthError) || error instanceof ServerError) {
      handleAsApi(error, req, res, next);
      return;
    }
    const status = error.name === 'invalid_client' ? 401 : 400;
    // Outside compatibility mode, omit WWW-Authenticate, because the header would advertise a method that is refused.
    if (status === 401 && takesBasic) res.set('www-authenticate', 'Basic realm="token endpoint"');
    res.set('pragma', 'no-cache');
    res.status(status).json({ error: error.name, error_description: error.message });
  };
}

function issueTokens(config: LocalServiceConfig, store: OAuthStore, now: () => number): RequestHandler {
  return async (req, res) => {
    const request = readTokenRequest(req);
    const server = new OAuth2Server({
      model: createOAuthModel(config, store, request, now),
      accessTokenLifetime: config.accessTokenSeconds,
      refreshTokenLifetime: REFRESH_IDLE_SECONDS,
      alwaysIssueNewRefreshToken: config.rotateRefresh,
    });
    const token = await server.token(
      new OAuth2Server.Request({
        method: 'POST',
        query: {},
        // The library requires these headers, although the body has already been read.
        headers: { 'content-type': 'application/x-www-form-urlencoded', 'content-length': '0' },
        body: request,
      }),
      new OAuth2Server.Response({}),
    );
    res.set('pragma', 'no-cache'); // in addition to no-store: RFC 6749 §5.1 requires both
    res.json({
      access_token: token.accessToken,
      expires_in: config.accessTokenSeconds,
      ...(token.refreshToken !== undefined && { refresh_token: token.refreshToken }),
    });
  };
}

/**
 * Reads a token request and checks the common requirements: a form with credentials in the body and no repeated fields.
 * Throws InvalidRequestError or InvalidClientError.
 */
function readTokenRequest(req: Request): TokenRequest {
  const form = formFields(req.body);
  if (form === undefined)
    throw new InvalidRequestError('The body must be of type application/x-www-form-urlencoded.');
  if (req.get('authorization') !== undefined)
    throw new InvalidClientError('Send client_id and client_secret in the body, not in a header.');
  if (hasRepeatedName(form)) throw new InvalidRequestError('A parameter is repeated.');

  const request: TokenRequest = {};
  for (const field of TOKEN_FIELDS) {
    const value = form.get(field);
    if (value) request[field] = value;
  }
  if (!isVisible(request.client_id) || !isVisible(request.client_secret))
    throw new InvalidClientError('client_id and client_secret must both be in the body.');
  return request;
}

/** Returns whether a string consists only of VSCHAR (RFC 6749 appendix A), the characters allowed in a client id or secret. */
function isVisible(text: string | undefined): boolean {
  return text !== undefined && /^[\x20-\x7e]+$/.test(text);
}

/** Returns a client error as an OAuthError, and any other error without the wrapper that the library added. */
function toTokenError(error: unknown): unknown {
  if (error instanceof ServerError) return 'inner' in error ? error.inner : error;
  if (error instanceof OAuthError || error instanceof ServiceError) return error;
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 500;
  return status >= 400 && status < 500 ? new InvalidRequestError('The body cannot be read.') : error;
}
