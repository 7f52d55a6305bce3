import * as openid from 'openid-client';
import { Client, buildConnector, type Dispatcher } from 'undici';
import type { Reloadable } from '../config/reloadable.ts';
import { AppError } from '../errors.ts';
import { toTraceHeaders, type TraceContext } from '../http/request-context.ts';
import type { Grant } from '../session/record.ts';
import { readAtMost } from '../upstream/connection-pool.ts';
import { sharedLookup } from '../upstream/shared-lookup.ts';
import { AUTHORIZATION_PATH } from '../upstream/target.ts';
import type { GrantType, OAuthMetrics, TokenEndpointOutcome } from './metrics.ts';
import { toStandardResponse, type TokenResponse } from './service-quirks.ts';

export type OAuthClient = ReturnType<typeof createOAuthClient>;

/** The token endpoint responded with an OAuth error (RFC 6749 §5.2). */
export class OAuthError extends Error {
  override readonly name = 'OAuthError';
  /** The error code, which may quote secrets if it is unknown. The property is not named `code`, because the logger would print it. */
  readonly error: string;

  constructor(error: string) {
    super(`the token endpoint refused: ${toLoggableCode(error)}`);
    this.error = error;
  }

  /** Returns whether the endpoint reports an outage rather than an error in the request (RFC 6749 §4.1.2.1). */
  get isOutage(): boolean {
    return this.error === 'server_error' || this.error === 'temporarily_unavailable';
  }
}

/**
 * No new access token is available now, although the grant may still be valid. The token endpoint is unreachable or too slow,
 * it responded with an error other than `invalid_grant`, or a refresh can't start. The session is kept.
 */
export class TokenEndpointError extends AppError {
  override readonly name = 'TokenEndpointError';
  /** Time until the next token request may be sent, in ms. */
  readonly retryInMs: number;

  constructor(cause: unknown, retryInMs = 1_000) {
    super('token_endpoint_unavailable', { cause });
    this.retryInMs = retryInMs;
  }
}

/**
 * The callback's parameters are not an authorization response from the service, for example because `iss` names another server
 * (RFC 9207 §2.4). No token request was sent.
 */
export class InvalidAuthorizationResponseError extends Error {
  override readonly name = 'InvalidAuthorizationResponseError';
}

/** The token request was not written, because `maySend` returned false. */
export class NotSentError extends Error {
  override readonly name = 'NotSentError';
}

/** Maximum lifetime of a token, in seconds. No session lasts longer, and an expiry that far ahead is still a valid date. */
const MAX_LIFETIME_SECONDS = 10 * 365 * 86_400;

/** Maximum size of a token response. Real responses are smaller, and a malicious response of this size can't exhaust memory. */
const MAX_RESPONSE_BYTES = 256 * 1024;

/** Error codes from the authorization endpoint (RFC 6749 §4.1.2.1) and the token endpoint (§5.2). */
const STANDARD_ERROR_CODES: ReadonlySet<string> = new Set([
  'access_denied',
  'invalid_client',
  'invalid_grant',
  'invalid_request',
  'invalid_scope',
  'server_error',
  'temporarily_unavailable',
  'unauthorized_client',
  'unsupported_grant_type',
  'unsupported_response_type',
]);

/**
 * Creates a confidential client for the service's authorization server, using openid-client. The client sends its credentials in the form
 * body and always uses PKCE with S256 and `state`.
 */
export function createOAuthClient(options: {
  readonly publicOrigin: string;
  readonly serviceOrigin: string;
  readonly clientId: string;
  readonly clientSecret: Reloadable<string>;
  /** Space-separated. */
  readonly scopes: string;
  /** TOKEN_TIMEOUT_SECONDS */
  readonly timeoutSeconds: number;
  readonly metrics: Pick<OAuthMetrics, 'tokenRequest'> | null;
  readonly now: () => number;
}) {
  const { serviceOrigin, timeoutSeconds } = options;
  const endpoint = `${serviceOrigin}${AUTHORIZATION_PATH}`;
  const redirectUri = `${options.publicOrigin}/auth/callback`;
  const sendTokenRequest = createTokenRequestSender(timeoutSeconds * 1_000);

  /** Creates a configuration per request, because openid-client can't set headers per request and the secret may change. */
  const configure = (fetchToken?: openid.CustomFetch) => {
    const configuration = new openid.Configuration(
      {
        issuer: serviceOrigin,
        authorization_endpoint: `${endpoint}/`,
        token_endpoint: `${endpoint}/token`,
      },
      options.clientId,
      {},
      openid.ClientSecretPost(options.clientSecret.current),
    );
    configuration.timeout = timeoutSeconds;
    if (fetchToken !== undefined) configuration[openid.customFetch] = fetchToken;
    // Cloakroom's configuration allows http only on a loopback host or with ALLOW_INSECURE_SERVICE.
    // oxlint-disable-next-line typescript/no-deprecated -- deprecated only as a warning: Cloakroom allows http if the operator does
    if (serviceOrigin.startsWith('http:')) openid.allowInsecureRequests(configuration);
    return configuration;
  };

  const requestToken = async (
    grantType: GrantType,
    trace: TraceContext | null | undefined,
    send: (configuration: openid.Configuration) => Promise<openid.TokenEndpointResponse>,
    { before, maySend }: { readonly before?: Grant; readonly maySend?: () => boolean } = {},
  ): Promise<Grant> => {
    let isRequested = false;
    let isDeclined = false;
    const configuration = configure(async (url, request) => {
      isRequested = true;
      try {
        const headers = { ...request.headers, ...toTraceHeaders(trace ?? null) };
        return toStandardResponse(await sendTokenRequest(url, { ...request, headers }, maySend));
      } catch (error) {
        isDeclined = error instanceof NotSentError;
        throw error;
      }
    });
    const sentAt = performance.now();
    // Count the lifetime from before the request, so that a slow response doesn't extend it.
    const issuedAt = options.now();
    const countOutcome = (outcome: TokenEndpointOutcome) => {
      if (isRequested) options.metrics?.tokenRequest(grantType, outcome, performance.now() - sentAt);
    };
    try {
      const scopes = before?.scopes ?? options.scopes.split(' ');
      const grant = toGrant(await send(configuration), issuedAt, scopes, before?.refreshToken);
      countOutcome('granted');
      return grant;
    } catch (cause) {
      if (isDeclined) throw new NotSentError('the token request was not sent', { cause });
      if (!isRequested && grantType === 'authorization_code')
        throw new InvalidAuthorizationResponseError(
          'the callback is not an authorization response from the service',
          { cause },
        );
      const isOAuthError = cause instanceof openid.ResponseBodyError;
      const error = isOAuthError ? new OAuthError(cause.error) : new TokenEndpointError(cause);
      countOutcome(toOutcome(error));
      throw error;
    }
  };

  return {
    /** Returns the URL to which Cloakroom redirects the browser for sign-in (RFC 6749 §4.1.1, RFC 7636 §4.3). */
    async authorizationUrl(state: string, verifier: string): Promise<URL> {
      return openid.buildAuthorizationUrl(configure(), {
        redirect_uri: redirectUri,
        scope: options.scopes,
        state,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
    },

    /**
     * Exchanges the authorization code in a callback's query (RFC 6749 §4.1.3). Rejects with OAuthError, TokenEndpointError or
     * InvalidAuthorizationResponseError.
     */
    async exchangeCode(query: URLSearchParams, state: string, verifier: string, trace?: TraceContext | null) {
      return requestToken('authorization_code', trace, async (configuration) =>
        openid.authorizationCodeGrant(configuration, new URL(`${redirectUri}?${query.toString()}`), {
          expectedState: state, // already checked by take() in sign-in-transactions.ts
          pkceCodeVerifier: verifier,
        }),
      );
    },

    /**
     * Requests a new access token (RFC 6749 §6), and keeps the refresh token if the response contains none. Rejects with
     * OAuthError, TokenEndpointError, or NotSentError if `maySend` returns false just before the request is written.
     */
    async refresh(
      before: Grant,
      refreshToken: string,
      trace: TraceContext | null | undefined,
      maySend: () => boolean,
    ) {
      return requestToken(
        'refresh_token',
        trace,
        async (configuration) => openid.refreshTokenGrant(configuration, refreshToken),
        { before, maySend },
      );
    },
  };
}

/**
 * Returns a function that sends each token request on a separate connection (docs/decisions/0003). A late or duplicate response
 * is then never mistaken for another user's. The function doesn't follow redirects or decode content codings. Rejects with
 * NotSentError if `maySend` returns false, with the abort reason of `signal`, or with an error that doesn't quote the response.
 */
export function createTokenRequestSender(timeoutMs: number) {
  const connect = buildConnector({ timeout: timeoutMs, lookup: sharedLookup }); // shared, so that TLS sessions are resumed
  return async (
    url: string,
    { method, headers, body, signal }: openid.CustomFetchOptions,
    maySend: () => boolean = () => true,
  ): Promise<TokenResponse> => {
    if (typeof body !== 'string' && !(body instanceof URLSearchParams))
      throw new TypeError('a token request has a form body');
    const { origin, pathname, search } = new URL(url);
    const client = new Client(origin, {
      connect,
      pipelining: 0, // `Connection: close`
      headersTimeout: timeoutMs,
      bodyTimeout: timeoutMs,
    });
    try {
      const response = await client.compose(declineUnless(maySend)).request({
        path: pathname + search,
        method,
        headers,
        body: body.toString(),
        signal: signal ?? null,
        // undici doesn't pause its parser while fewer bytes than this are buffered. If a connection ends while the parser is paused, undici
        // throws an error that callers can't catch (nodejs/undici#5360).
        highWaterMark: 2 * MAX_RESPONSE_BYTES,
      });
      const bytes = await readAtMost(response.body, MAX_RESPONSE_BYTES);
      if (bytes === null) throw new Error('the token endpoint’s response is too large');
      return { status: response.statusCode, text: new TextDecoder().decode(bytes) }; // drops a byte order mark
    } finally {
      await client.destroy();
    }
  };
}

/**
 * Returns an undici interceptor that calls `maySend` in the same turn in which undici writes the request. Checking when the connection
 * opens would be too early, because compiling undici's parser may still delay the first request of a process.
 */
function declineUnless(maySend: () => boolean): Dispatcher.DispatcherComposeInterceptor {
  return (dispatch) => (options, handler) =>
    dispatch(options, {
      onRequestStart(controller, context) {
        handler.onRequestStart?.(controller, context);
        if (!maySend()) controller.abort(new NotSentError('the token request was not sent'));
      },
      onResponseStart: (...args) => handler.onResponseStart?.(...args),
      onResponseData: (...args) => handler.onResponseData?.(...args),
      onResponseEnd: (...args) => handler.onResponseEnd?.(...args),
      onResponseError: (...args) => handler.onResponseError?.(...args),
    });
}

/** Returns an error code if RFC 6749 defines it, otherwise a fixed text. An unknown code may quote the request or any query value. */
export function toLoggableCode(code: string): string {
  return STANDARD_ERROR_CODES.has(code) ? code : 'an unknown error';
}

function toOutcome(error: OAuthError | TokenEndpointError): TokenEndpointOutcome {
  if (!(error instanceof OAuthError) || error.isOutage) return 'unavailable';
  return error.error === 'invalid_grant' ? 'invalid_grant' : 'refused';
}

function toGrant(
  response: openid.TokenEndpointResponse,
  issuedAt: number,
  scopesBefore: readonly string[],
  refreshTokenBefore: string | undefined,
): Grant {
  const { access_token: accessToken, expires_in: expiresIn = 0, token_type: tokenType } = response;
  // The token is used as a header value (RFC 6750 §2.1); DPoP is not supported.
  if (tokenType !== 'bearer' || !/^[\x21-\x7e]+$/.test(accessToken)) throw new Error('not a bearer token');
  const refreshToken = response.refresh_token ?? refreshTokenBefore;
  const lifetimeMs = Math.min(expiresIn, MAX_LIFETIME_SECONDS) * 1_000;
  return {
    accessToken,
    expiresAt: issuedAt + lifetimeMs,
    lifetimeMs,
    ...(refreshToken !== undefined && { refreshToken }),
    scopes: response.scope?.split(' ').filter(Boolean) ?? [...scopesBefore],
  };
}
