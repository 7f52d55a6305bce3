import { createHash, randomBytes } from 'node:crypto';
import { Agent, request } from 'undici';
import { AUTHORIZATION_PATH } from '../../upstream/target.ts';
import type { Settings } from './configuration.ts';
import {
  INVALID_VARIABLES,
  isResult,
  ok,
  problem,
  skipped,
  warning,
  type Check,
  type Result,
} from './finding.ts';
import { lookUp, resultOrProblem } from './network-errors.ts';

interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** A response, or the reason why there was none. */
type Outcome = HttpResponse | Result;

/**
 * Outcomes of requests with this app's settings, each paired with the outcome for an unregistered app or redirect URI. Only a
 * difference between the two shows whether the service knows this app (docs/decisions/0017).
 */
interface Subject {
  readonly origin: string;
  readonly redirectUri: string;
  /** A refresh with a refresh token that was never issued. */
  readonly refresh: Outcome;
  readonly unregisteredRefresh: Outcome;
  /** A request to the authorization endpoint, where a sign-in begins. */
  readonly signIn: Outcome;
  readonly unregisteredSignIn: Outcome;
}

export const serviceChecks: readonly Check<Subject>[] = [
  {
    id: 'service-reachable',
    title: 'Service',
    run: ({ origin }) => ok(`The service is running at ${origin}.`),
  },
  { id: 'service-token-endpoint', title: 'Service token endpoint', run: checkTokenEndpoint },
  { id: 'service-credentials', title: 'CLIENT_ID and CLIENT_SECRET', run: checkCredentials },
  { id: 'service-sign-in', title: 'Service authorization endpoint', run: checkSignIn },
  { id: 'service-redirect-uri', title: 'Redirect URI', run: checkRedirectUri },
];

/** A redirect URI that is certainly unregistered, because its domain can’t exist (RFC 6761 §6.4). */
const UNREGISTERED_URI = 'https://cloakroom-doctor.invalid/auth/callback';

/** Sends all requests in parallel. None of the requests makes the service issue a token or code. */
export async function readService({ values, publicOrigin }: Settings): Promise<Subject | Result> {
  const { SERVICE_URL: origin, CLIENT_ID: clientId, CLIENT_SECRET: secret, SCOPES: scopes } = values;
  if (origin === undefined) return INVALID_VARIABLES;

  const refresh = async (id: string | undefined, clientSecret: string | undefined) => {
    if (id === undefined || clientSecret === undefined) return INVALID_VARIABLES;
    return send(origin, `${AUTHORIZATION_PATH}/token`, {
      grant_type: 'refresh_token',
      refresh_token: randomText(),
      client_id: id,
      client_secret: clientSecret,
    });
  };
  // The first request in a sign-in (RFC 7636 §4.3). The code verifier is discarded, because the sign-in goes no further.
  const signIn = async (uri: string) => {
    if (clientId === undefined || scopes === undefined || publicOrigin === undefined)
      return INVALID_VARIABLES;
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri: uri,
      scope: scopes,
      state: randomText(),
      response_type: 'code',
      code_challenge: createHash('sha256').update(randomText()).digest('base64url'),
      code_challenge_method: 'S256',
    });
    return send(origin, `${AUTHORIZATION_PATH}/?${query.toString()}`);
  };

  return resultOrProblem(origin, async () => {
    await lookUp(new URL(origin).hostname);
    const redirectUri = `${publicOrigin}/auth/callback`;
    const outcomes = await Promise.all([
      refresh(clientId, secret),
      // Uses a made-up client id, so that failed attempts don't count against the app.
      refresh(`cloakroom-doctor-${randomText()}`, randomText()),
      signIn(redirectUri),
      signIn(UNREGISTERED_URI),
    ]);
    const [ownRefresh, unregisteredRefresh, ownSignIn, unregisteredSignIn] = outcomes;
    if (isResult(unregisteredRefresh) && outcomes.every(isResult)) return unregisteredRefresh;
    return {
      origin,
      redirectUri,
      refresh: ownRefresh,
      unregisteredRefresh,
      signIn: ownSignIn,
      unregisteredSignIn,
    };
  });
}

function randomText(): string {
  return randomBytes(24).toString('base64url');
}

const TIMEOUT_MS = 5_000;
/** Closes each connection after one response. */
const agent = new Agent({ pipelining: 0, connect: { timeout: 3_000 }, maxResponseSize: 4_194_304 });

/** Sends one request without following redirects, and waits at most 5 s for the response. */
async function send(origin: string, path: string, form?: Readonly<Record<string, string>>): Promise<Outcome> {
  return resultOrProblem(origin, async () => {
    const { statusCode, headers, body } = await request(origin + path, {
      dispatcher: agent,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      headers: {
        'user-agent': 'cloakroom-doctor',
        accept: form ? 'application/json' : 'text/html',
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form && { method: 'POST', body: new URLSearchParams(form).toString() }),
    });
    return { status: statusCode, headers, text: await body.text() };
  });
}

/** Checks the token endpoint: a refresh with unregistered credentials must get an OAuth error. */
function checkTokenEndpoint({ unregisteredRefresh: response }: Subject): Result {
  if (isResult(response)) return response;
  if (oauthErrorOf(response) !== undefined) return ok('The token endpoint returns OAuth errors.');
  return (
    unavailable(response) ??
    problem(
      `The service responds with ${response.status} but without an OAuth error, so it has no token endpoint at this address.`,
      'Set SERVICE_URL to the origin of the service itself, not of a server in front of it.',
    )
  );
}

/** Checks the credentials. The OAuth error from a refresh shows whether the service knows the app. */
function checkCredentials({ refresh, unregisteredRefresh }: Subject): Result {
  if (isResult(refresh)) return refresh;
  const error = oauthErrorOf(refresh);
  if (error === 'invalid_client') {
    return problem(
      'The service does not know the app, or refuses its secret. Users can’t sign in, and tokens can’t be refreshed.',
      'Compare CLIENT_ID and CLIENT_SECRET with the registration of the app. Look for extra spaces, and for a secret that was replaced.',
    );
  }
  if (error === 'unauthorized_client' || error === 'unsupported_grant_type') {
    return problem(
      'The service does not allow the app to refresh tokens. Users are signed out when their first access token expires.',
      'Enable the refresh_token grant type in the registration of the app.',
    );
  }
  if (error !== 'invalid_grant') return skipped('The response is inconclusive. Try signing in.');
  return !isResult(unregisteredRefresh) && oauthErrorOf(unregisteredRefresh) === 'invalid_client'
    ? ok('The service knows the app and its secret.')
    : skipped('The check is inconclusive because the service gives unknown apps the same response.');
}

/** Checks whether a browser can start signing in at the authorization endpoint. */
function checkSignIn({ signIn: response, redirectUri }: Subject): Result {
  if (isResult(response)) return response;
  const impaired = unavailable(response);
  if (impaired !== undefined) return impaired;
  if ([404, 405, 410].includes(response.status)) {
    return problem(
      `The service responds with ${response.status}, so it has no authorization endpoint at this address.`,
      'Set SERVICE_URL to the origin of the service itself.',
    );
  }
  const error = redirectQuery(response, redirectUri)?.get('error') ?? null;
  if (error === null) return ok(`The authorization endpoint responds (${response.status}).`);
  return problem(
    error === 'invalid_scope'
      ? 'Users can’t sign in because a scope in SCOPES does not exist, or the app is not allowed to request it.'
      : 'The service responds to every sign-in with an error.',
    'Compare CLIENT_ID and SCOPES with the registration of the app. Case matters.',
  );
}

/** Checks the redirect URI. If the service knows the URI, its response differs from that for an unregistered URI. */
function checkRedirectUri({ signIn, unregisteredSignIn, redirectUri }: Subject): Result {
  if (isResult(signIn)) return signIn;
  if (isResult(unregisteredSignIn)) return unregisteredSignIn;
  const remedy = `Register exactly this URI with the service: ${redirectUri}`;
  const isRefused = ({ status }: HttpResponse) => status === 400 || status === 422;
  const isSentBack =
    redirectQuery(signIn, redirectUri) !== undefined &&
    redirectQuery(unregisteredSignIn, UNREGISTERED_URI) === undefined;
  if (isSentBack || (signIn.status < 400 && isRefused(unregisteredSignIn)))
    return ok(`The service accepts ${redirectUri}`);
  if (isRefused(signIn) && isRefused(unregisteredSignIn)) {
    return problem(
      `The service refuses both ${redirectUri} and an unregistered URI, so users can’t sign in.`,
      `Check CLIENT_ID, which may be the cause. ${remedy}`,
    );
  }
  return skipped('The service may check the redirect URI only after a user signs in.', remedy);
}

function unavailable({ status }: HttpResponse): Result | undefined {
  if (status === 429) return warning('The service is limiting the request rate (429).', 'Try again later.');
  if (status < 500) return undefined;
  return problem(`The service fails with status ${status}.`, 'Contact the operators of the service.');
}

/** Returns the OAuth error in a response with any status (RFC 6749 §5.2). */
function oauthErrorOf({ text }: HttpResponse): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' && error !== '' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** Returns the query of a redirect to `uri`; undefined if the response doesn't redirect to `uri`. */
function redirectQuery({ status, headers }: HttpResponse, uri: string): URLSearchParams | undefined {
  const { location } = headers;
  if (typeof location !== 'string' || status < 300 || status >= 400) return undefined;
  return location.startsWith(`${uri}?`) ? new URLSearchParams(location.slice(uri.length)) : undefined;
}

interface PublicUrl {
  readonly origin: string;
  readonly response: HttpResponse;
}

export const publicUrlChecks: readonly Check<PublicUrl>[] = [
  { id: 'public-url', title: 'PUBLIC_URL', run: checkPublicUrl },
];

/** Requests the health check at PUBLIC_URL. If there is no response, skips the check, because Cloakroom may not be running yet. */
export async function readPublicUrl({ publicOrigin: origin }: Settings): Promise<PublicUrl | Result> {
  if (origin === undefined) return INVALID_VARIABLES;
  const response = await resultOrProblem(origin, async () => {
    await lookUp(new URL(origin).hostname);
    return send(origin, '/healthz');
  });
  if (!isResult(response)) return { origin, response };
  return skipped(
    `${response.detail} This is expected if Cloakroom is not running yet, or if only browsers can reach that origin.`,
  );
}

function checkPublicUrl({ origin, response: { status, headers, text } }: PublicUrl): Result {
  if (headers['x-request-id'] !== undefined && text.includes('"status":"ok"'))
    return ok(`Cloakroom responds at ${origin}.`);
  if ([502, 503, 504].includes(status))
    return skipped(`A proxy responds at ${origin} but can’t reach Cloakroom yet (${status}).`);
  return warning(
    `A server other than Cloakroom responds at ${origin} (${status}).`,
    'Route all paths of that origin to Cloakroom.',
  );
}
