import * as openid from 'openid-client';
import type { Reloadable } from '../config/reloadable.ts';
import { AppError } from '../errors.ts';
import { toTraceHeaders, type TraceContext } from '../http/request-context.ts';
import type { Grant } from '../session/record.ts';
import { speakDialect } from './service-quirks.ts';
import { isOutage, toLoggedOAuthError } from './oauth-errors.ts';
import { AUTHORIZATION_PATH } from '../upstream/service-paths.ts';
import { NotSentError, createTokenRequest } from './token-request.ts';
import type { SendTokenRequest } from './token-request.ts';
import type { GrantType, TokenEndpointMetrics, TokenEndpointOutcome } from './token-endpoint-metrics.ts';

/** The service's authorization server, as a confidential client sees it. */
export interface OAuthClient {
  /** Where the browser goes to sign in (RFC 6749 §4.1.1, RFC 7636 §4.3). */
  authorizationUrl(state: string, verifier: string): Promise<URL>;
  /**
   * Exchanges the code in a callback's query (RFC 6749 §4.1.3). Rejects with GrantRefusedError or
   * TokenEndpointError, or, where the query is none to ask with, with ForeignAnswerError. `trace` is that of the request
   * that it is for.
   */
  exchangeCode(
    query: URLSearchParams,
    state: string,
    verifier: string,
    trace?: TraceContext | null,
  ): Promise<Grant>;
  /**
   * A new access token for a grant (RFC 6749 §6); keeps the refresh token where the answer has none. Rejects like
   * exchangeCode, and with NotSentError where `maySend` is false just before the request is written.
   */
  renew(
    grant: Grant,
    refreshToken: string,
    trace: TraceContext | null | undefined,
    maySend: () => boolean,
  ): Promise<Grant>;
}

/** The token endpoint answered with an OAuth error (RFC 6749 §5.2). */
export class GrantRefusedError extends Error {
  override readonly name = 'GrantRefusedError';
  readonly error: string;

  constructor(error: string) {
    super(`the token endpoint refused: ${toLoggedOAuthError(error)}`);
    this.error = error;
  }
}

/** The token endpoint can't be reached, is too slow, or answers nonsense: the grant may well be good. */
export class TokenEndpointError extends AppError {
  override readonly name = 'TokenEndpointError';
  /** Not to be asked again within this time (ms). */
  readonly retryInMs: number;

  constructor(cause: unknown, retryInMs = 1_000) {
    super('token_endpoint_unavailable', { cause });
    this.retryInMs = retryInMs;
  }
}

/**
 * What came with the browser is no answer of the service to an authorization request: its `iss` is another one (RFC 9207
 * §2.4), say. The token endpoint was not asked.
 */
export class ForeignAnswerError extends Error {
  override readonly name = 'ForeignAnswerError';
}

/** Beyond any session, and still a number that a clock can be set to. */
const LONGEST_LIFE_SECONDS = 10 * 365 * 86_400;

export interface OAuthClientOptions {
  readonly publicOrigin: string;
  readonly serviceOrigin: string;
  readonly clientId: string;
  readonly clientSecret: Reloadable<string>;
  /** Space-separated. */
  readonly scopes: string;
  /** For one call of the token endpoint. */
  readonly timeoutSeconds: number;
  /** Null where nobody reads metrics. */
  readonly metrics: TokenEndpointMetrics | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/** openid-client for the service: client credentials in the form body, PKCE S256 and `state` always. */
export function createOAuthClient(options: OAuthClientOptions): OAuthClient {
  const endpoint = `${options.serviceOrigin}${AUTHORIZATION_PATH}`;
  const callback = `${options.publicOrigin}/auth/callback`;
  const send = createTokenRequest(options.timeoutSeconds * 1_000);
  /** Made for each call: openid-client has no headers for a single one, and the secret may change between two. */
  const configure = (trace: TraceContext | null = null, sendRequest: SendTokenRequest = send) => {
    const configuration = new openid.Configuration(
      {
        issuer: options.serviceOrigin,
        authorization_endpoint: `${endpoint}/`,
        token_endpoint: `${endpoint}/token`,
      },
      options.clientId,
      {},
      openid.ClientSecretPost(options.clientSecret.current),
    );
    configuration.timeout = options.timeoutSeconds;
    configuration[openid.customFetch] = speakDialect(async (url, init) =>
      sendRequest(url, { ...init, headers: { ...init.headers, ...toTraceHeaders(trace) } }),
    );
    // The configuration has judged the origin: http is there on a loopback host or by explicit choice only.
    // oxlint-disable-next-line typescript/no-deprecated -- marked so only to make it stand out
    if (options.serviceOrigin.startsWith('http:')) openid.allowInsecureRequests(configuration);
    return configuration;
  };

  /** Counts the lifetime from before the question, so that a slow answer shortens it. */
  const ask = async (call: () => Promise<openid.TokenEndpointResponse>, before: Grant | undefined) => {
    const livesFrom = options.now();
    try {
      return toGrant(
        await call(),
        livesFrom,
        before?.scopes ?? options.scopes.split(' '),
        before?.refreshToken,
      );
    } catch (error) {
      if (error instanceof openid.ResponseBodyError) throw new GrantRefusedError(error.error);
      throw new TokenEndpointError(error);
    }
  };
  /** What goes wrong before the token endpoint is asked is no answer of its, and counts as none. */
  const askCounted = async (
    grantType: GrantType,
    trace: TraceContext | null | undefined,
    call: (configuration: openid.Configuration) => Promise<openid.TokenEndpointResponse>,
    before?: Grant,
    maySend?: () => boolean,
  ) => {
    let isAsked = false;
    let isSent = true;
    const configuration = configure(trace, async (url, request) => {
      isAsked = true;
      try {
        return await send(url, request, maySend);
      } catch (error) {
        isSent = !(error instanceof NotSentError);
        throw error;
      }
    });
    const began = performance.now();
    const answered = (outcome: TokenEndpointOutcome) => {
      if (isAsked) options.metrics?.answered(grantType, outcome, performance.now() - began);
    };
    try {
      const grant = await ask(async () => call(configuration), before);
      answered('granted');
      return grant;
    } catch (error) {
      if (!isSent) throw new NotSentError('the token request was not sent', { cause: error });
      answered(toOutcome(error));
      if (!isAsked && grantType === 'authorization_code')
        throw new ForeignAnswerError('no answer of the service to a sign-in', { cause: error });
      throw error;
    }
  };

  return {
    async authorizationUrl(state, verifier) {
      return openid.buildAuthorizationUrl(configure(), {
        redirect_uri: callback,
        scope: options.scopes,
        state,
        code_challenge: await openid.calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      });
    },
    exchangeCode: async (query, state, verifier, trace) =>
      askCounted('authorization_code', trace, async (configuration) =>
        openid.authorizationCodeGrant(configuration, new URL(`${callback}?${query.toString()}`), {
          expectedState: state,
          pkceCodeVerifier: verifier,
        }),
      ),
    renew: async (grant, refreshToken, trace, maySend) =>
      askCounted(
        'refresh_token',
        trace,
        async (configuration) => openid.refreshTokenGrant(configuration, refreshToken),
        grant,
        maySend,
      ),
  };
}

function toOutcome(error: unknown): TokenEndpointOutcome {
  if (!(error instanceof GrantRefusedError) || isOutage(error.error)) return 'unavailable';
  return error.error === 'invalid_grant' ? 'invalid_grant' : 'refused';
}

function toGrant(
  answer: openid.TokenEndpointResponse,
  livesFrom: number,
  scopesBefore: readonly string[],
  refreshTokenBefore: string | undefined,
): Grant {
  const { access_token: accessToken, expires_in: expiresIn = 0, token_type: tokenType } = answer;
  // What goes into a header must be one (RFC 6750 §2.1); "dpop" is none of ours.
  if (tokenType !== 'bearer' || !/^[\x21-\x7e]+$/.test(accessToken)) throw new Error('not a bearer token');
  const refreshToken = answer.refresh_token ?? refreshTokenBefore;
  const lifetimeMs = Math.min(expiresIn, LONGEST_LIFE_SECONDS) * 1_000;
  return {
    accessToken,
    expiresAt: livesFrom + lifetimeMs,
    lifetimeMs,
    ...(refreshToken !== undefined && { refreshToken }),
    scopes: answer.scope?.split(' ').filter(Boolean) ?? [...scopesBefore],
  };
}
