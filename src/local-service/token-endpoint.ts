import OAuth2Server from '@node-oauth/oauth2-server';
import { Router } from 'express';
import type { ErrorRequestHandler, RequestHandler } from 'express';
import type { Logger } from '../observability/logger.ts';
import { apiErrorHandler, refuseMethod } from './error-responses.ts';
import { readFormBody } from './form-body.ts';
import { REFRESH_IDLE_SECONDS } from './lifetimes.ts';
import type { LocalServiceConfig } from './config.ts';
import { createOAuthModel } from './oauth-model.ts';
import type { OAuthStore } from './oauth-model.ts';
import { TOKEN_PATH } from './service-paths.ts';
import { toTokenRequest } from './token-request.ts';
import { ServiceError } from './service-errors.ts';

/**
 * `POST …/oauth2/token` (RFC 6749 §3.2, interface 4.2 and 4.3). Answers with the fields of the interface and no
 * others: no `token_type`, no `scope`. `errors` is a tokenErrorHandler.
 */
export function tokenEndpoint(
  config: LocalServiceConfig,
  store: OAuthStore,
  errors: ErrorRequestHandler,
  now: () => number,
): Router {
  const router = Router({ strict: true, caseSensitive: true });
  router.post(TOKEN_PATH, readFormBody(), exchange(config, store, now));
  router.all(TOKEN_PATH, refuseMethod('POST'));
  router.use(errors);
  return router;
}

function exchange(config: LocalServiceConfig, store: OAuthStore, now: () => number): RequestHandler {
  return async (req, res) => {
    const request = toTokenRequest(req);
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
        // Only what its own check for a form looks at: the body has been read and judged.
        headers: {
          'content-type': 'application/x-www-form-urlencoded',
          'content-length': '0',
        },
        body: request,
      }),
      new OAuth2Server.Response({}),
    );
    res.set('pragma', 'no-cache'); // beside no-store: RFC 6749 §5.1 asks for both
    res.json({
      access_token: token.accessToken,
      expires_in: config.accessTokenSeconds,
      ...(token.refreshToken !== undefined && { refresh_token: token.refreshToken }),
    });
  };
}

/**
 * Answers with one of the four errors of interface section 7: `invalid_client` with 401, the others with 400. What
 * isn't the client's doing is answered as on the API: 503 or 500, without an OAuth error. `takesBasic`: a 401 offers
 * HTTP Basic (RFC 6749 §5.2).
 */
export function tokenErrorHandler(log: Logger, takesBasic: boolean): ErrorRequestHandler {
  const answerAsApi = apiErrorHandler(log);
  return (error: unknown, req, res, next) => {
    const refusal = toTokenError(error);
    if (refusal instanceof OAuth2Server.OAuthError && !(refusal instanceof OAuth2Server.ServerError)) {
      const status = refusal.name === 'invalid_client' ? 401 : 400;
      // Otherwise without WWW-Authenticate: it would offer what is refused.
      if (status === 401 && takesBasic) res.set('www-authenticate', 'Basic realm="token endpoint"');
      res.set('pragma', 'no-cache');
      res.status(status).json({ error: refusal.name, error_description: refusal.message });
      return;
    }
    answerAsApi(refusal, req, res, next);
  };
}

/** The client's mistake as an OAuthError; anything else as what it was before the library wrapped it. */
function toTokenError(error: unknown): unknown {
  if (error instanceof OAuth2Server.ServerError) return 'inner' in error ? error.inner : error;
  if (error instanceof OAuth2Server.OAuthError || error instanceof ServiceError) return error;
  const status = error instanceof Error && 'status' in error ? Number(error.status) : 500;
  return status >= 400 && status < 500
    ? new OAuth2Server.InvalidRequestError('The body cannot be read.')
    : error;
}
