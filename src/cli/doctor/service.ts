import { createHash, randomBytes } from 'node:crypto';
import { Agent, request } from 'undici';
import { AUTHORIZATION_PATH } from '../../upstream/target.ts';
import type { Settings } from './configuration.ts';
import {
  ok,
  problem,
  runAll,
  skipped,
  warning,
  withoutSubject,
  type Check,
  type Finding,
  type Result,
} from './finding.ts';
import { ConnectionError, requireHostName, toConnectionError } from './network-errors.ts';

interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

type Outcome = HttpResponse | ConnectionError;

/**
 * Responses to requests of this app, and to the same requests of an app or a redirect URI that nobody has registered. Only the
 * difference shows whether the service knows this app (decision 33). Null where a variable is missing.
 */
interface Subject {
  readonly origin: string;
  readonly redirectUri: string | undefined;
  /** Refreshes with a refresh token that was never issued. */
  readonly refresh: Outcome | null;
  readonly unregisteredRefresh: Outcome;
  /** The authorization endpoint, where a sign-in begins. */
  readonly signIn: Outcome | null;
  readonly unregisteredSignIn: Outcome | null;
}

export const serviceChecks: readonly Check<Subject>[] = [
  { id: 'service-reachable', title: 'Service', run: ({ origin }) => ok(`It responds at ${origin}.`) },
  { id: 'service-token-endpoint', title: 'Service: token endpoint', run: checkTokenEndpoint },
  { id: 'service-credentials', title: 'Service: CLIENT_ID and CLIENT_SECRET', run: checkCredentials },
  { id: 'service-sign-in', title: 'Service: authorization endpoint', run: checkSignIn },
  { id: 'service-redirect-uri', title: 'Service: redirect URI', run: checkRedirectUri },
];

/** Checks whether the service can be reached and knows the app. Nothing is issued. */
export async function checkService(settings: Settings): Promise<Finding[]> {
  const origin = settings.values.SERVICE_URL;
  if (origin === undefined) {
    const reason = 'SERVICE_URL must be valid first.';
    return withoutSubject(serviceChecks, skipped(reason), reason);
  }
  try {
    await requireHostName(new URL(origin).hostname);
    return runAll(serviceChecks, await probeService(origin, settings));
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    const unreachable = problem(`${origin} ${error.what}.`, error.remedy);
    return withoutSubject(serviceChecks, unreachable, 'The service can’t be reached.');
  }
}

/** Checks what responds at PUBLIC_URL. No response is fine as long as Cloakroom does not run. Another server is not. */
export async function checkPublicUrl({ publicOrigin }: Settings): Promise<Result> {
  if (publicOrigin === undefined) return skipped('PUBLIC_URL, or PORT, must be valid first.');
  try {
    await requireHostName(new URL(publicOrigin).hostname);
    const { status, headers, text } = await send(`${publicOrigin}/healthz`);
    if (headers['x-request-id'] !== undefined && text.includes('"status":"ok"'))
      return ok(`Cloakroom responds at ${publicOrigin}.`);
    if ([502, 503, 504].includes(status))
      return skipped(`A proxy responds at ${publicOrigin}, and can’t reach Cloakroom yet (${status}).`);
    return warning(
      `Another server than Cloakroom responds at ${publicOrigin} (${status}).`,
      'Let that origin, with all of its paths, lead to Cloakroom.',
    );
  } catch (error) {
    if (!(error instanceof ConnectionError)) throw error;
    return skipped(
      `${publicOrigin} ${error.what}, as seen from here. That is fine where Cloakroom does not run yet, or where only browsers reach it there.`,
    );
  }
}

/** An unregistered redirect URI: nobody can own the name (RFC 6761 §6.4). */
const UNREGISTERED_URI = 'https://cloakroom-doctor.invalid/auth/callback';

/** Sends all requests at once. Throws a ConnectionError where each of them fails. */
async function probeService(origin: string, { values, publicOrigin }: Settings): Promise<Subject> {
  const { CLIENT_ID: clientId, CLIENT_SECRET: clientSecret, SCOPES: scopes } = values;
  const redirectUri = publicOrigin === undefined ? undefined : `${publicOrigin}/auth/callback`;

  const refresh = async (id: string, secret: string) =>
    sendOrFail(`${origin}${AUTHORIZATION_PATH}/token`, {
      grant_type: 'refresh_token',
      refresh_token: randomText(),
      client_id: id,
      client_secret: secret,
    });
  // As a sign-in begins (RFC 7636 §4.3), with a challenge whose verifier nobody has.
  const signIn = async (uri: string | undefined) => {
    if (clientId === undefined || scopes === undefined || redirectUri === undefined || uri === undefined)
      return null;
    const query = new URLSearchParams({
      client_id: clientId,
      redirect_uri: uri,
      scope: scopes,
      state: randomText(),
      response_type: 'code',
      code_challenge: createHash('sha256').update(randomText()).digest('base64url'),
      code_challenge_method: 'S256',
    });
    return sendOrFail(`${origin}${AUTHORIZATION_PATH}/?${query.toString()}`);
  };

  const canRefresh = clientId !== undefined && clientSecret !== undefined;
  const [ownRefresh, unregisteredRefresh, ownSignIn, unregisteredSignIn] = await Promise.all([
    canRefresh ? refresh(clientId, clientSecret) : null,
    // With an id of its own, so that no failed attempt counts against the app.
    refresh(`cloakroom-doctor-${randomText()}`, randomText()),
    signIn(redirectUri),
    signIn(UNREGISTERED_URI),
  ]);
  const isFailure = (outcome: Outcome | null) => outcome === null || outcome instanceof ConnectionError;
  const all = [ownRefresh, unregisteredRefresh, ownSignIn, unregisteredSignIn];
  if (unregisteredRefresh instanceof ConnectionError && all.every(isFailure)) throw unregisteredRefresh;
  return {
    origin,
    redirectUri,
    refresh: ownRefresh,
    unregisteredRefresh,
    signIn: ownSignIn,
    unregisteredSignIn,
  };
}

function randomText(): string {
  return randomBytes(24).toString('base64url');
}

async function sendOrFail(...args: Parameters<typeof send>): Promise<Outcome> {
  try {
    return await send(...args);
  } catch (error) {
    if (error instanceof ConnectionError) return error;
    throw error;
  }
}

const TIMEOUT_MS = 5_000;
/** Closes each connection after its response. */
const agent = new Agent({ pipelining: 0, connect: { timeout: 3_000 }, maxResponseSize: 4_194_304 });

/** Sends one request, follows no redirect, and waits for 5 s. Throws a ConnectionError. */
async function send(url: string, form?: Readonly<Record<string, string>>): Promise<HttpResponse> {
  try {
    const { statusCode, headers, body } = await request(url, {
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
  } catch (error) {
    const unknown = new ConnectionError('can’t be reached', 'Check the address, and that it is running.');
    throw toConnectionError(error) ?? unknown;
  }
}

/** A request with nonsense must get an OAuth error. */
function checkTokenEndpoint({ unregisteredRefresh: response }: Subject): Result {
  if (response instanceof ConnectionError) return problem(`It ${response.what}.`, response.remedy);
  if (oauthErrorOf(response) !== undefined) return ok('It responds as OAuth demands.');
  return (
    unavailable(response) ??
    problem(
      `It responds with ${response.status} and without an OAuth error: the service has no token endpoint at this address.`,
      'Check SERVICE_URL: it is the origin of the service itself, without another server in between.',
    )
  );
}

/** How a refresh fails shows whether the service knows the app. */
function checkCredentials({ refresh, unregisteredRefresh }: Subject): Result {
  if (refresh === null) return skipped('CLIENT_ID and CLIENT_SECRET must be valid first.');
  if (refresh instanceof ConnectionError) return skipped('The token endpoint can’t be reached.');
  const error = oauthErrorOf(refresh);
  if (error === 'invalid_client') {
    return problem(
      'The service does not know the app, or refuses its secret: nobody can sign in, and no token is refreshed.',
      'Compare both with the app as it is registered. Look for blanks, and for a secret that was replaced.',
    );
  }
  if (error === 'unauthorized_client' || error === 'unsupported_grant_type') {
    return problem(
      'The service does not let the app refresh tokens: everybody is signed out when the first token expires.',
      'Allow the app the grant type refresh_token where it is registered.',
    );
  }
  if (error !== 'invalid_grant') return skipped('The response does not tell. A sign-in will.');
  const rejectsUnregistered =
    !(unregisteredRefresh instanceof ConnectionError) &&
    oauthErrorOf(unregisteredRefresh) === 'invalid_client';
  return rejectsUnregistered
    ? ok('The service knows the app and its secret.')
    : skipped('Can’t be told: the service responds in the same way to an app that it does not know.');
}

/** Whether a browser can begin a sign-in there. */
function checkSignIn({ signIn: response, redirectUri }: Subject): Result {
  if (response === null || redirectUri === undefined) return MISSING_FOR_SIGN_IN;
  if (response instanceof ConnectionError) return problem(`It ${response.what}.`, response.remedy);
  const impaired = unavailable(response);
  if (impaired !== undefined) return impaired;
  if ([404, 405, 410].includes(response.status)) {
    return problem(
      `It responds with ${response.status}: the service has no authorization endpoint at this address.`,
      'Check SERVICE_URL: it is the origin of the service itself.',
    );
  }
  const error = redirectQuery(response, redirectUri)?.get('error');
  if (error === undefined || error === null) return ok(`It responds (${response.status}).`);
  if (error === 'invalid_scope') {
    return problem(
      'The service refuses the SCOPES: one does not exist, or the app may not request it. Nobody can sign in.',
      'Compare SCOPES with those of the registered app. Upper and lower case count.',
    );
  }
  return problem(
    'The service responds to every sign-in with an error.',
    'Compare CLIENT_ID and SCOPES with the app as it is registered.',
  );
}

/** By the difference between the responses to the app's redirect URI and to an unregistered one. */
function checkRedirectUri({ signIn, unregisteredSignIn, redirectUri }: Subject): Result {
  if (redirectUri === undefined || signIn === null || unregisteredSignIn === null) return MISSING_FOR_SIGN_IN;
  const remedy = `Register exactly this at the service: ${redirectUri}`;
  if (signIn instanceof ConnectionError || unregisteredSignIn instanceof ConnectionError)
    return skipped('The authorization endpoint can’t be reached.', remedy);
  const isRefused = ({ status }: HttpResponse) => status === 400 || status === 422;
  const isSentBack =
    redirectQuery(signIn, redirectUri) !== undefined &&
    redirectQuery(unregisteredSignIn, UNREGISTERED_URI) === undefined;
  if (isSentBack || (signIn.status < 400 && isRefused(unregisteredSignIn)))
    return ok(`The service accepts ${redirectUri}`);
  if (isRefused(signIn) && isRefused(unregisteredSignIn)) {
    return problem(
      `The service refuses ${redirectUri}, as it does an unregistered one: nobody can sign in.`,
      `${remedy} – and check CLIENT_ID, which may be the reason, too.`,
    );
  }
  return skipped('Can’t be told: the service does not say before somebody signs in.', remedy);
}

const MISSING_FOR_SIGN_IN = skipped('CLIENT_ID, SCOPES and PUBLIC_URL must be valid first.');

function unavailable({ status }: HttpResponse): Result | undefined {
  if (status === 429) return warning('It accepts no more requests for now (429).', 'Try again later.');
  if (status < 500) return undefined;
  return problem(`It is out of order: it responds with ${status}.`, 'Ask the operators of the service.');
}

/** The OAuth error in a response of any status (RFC 6749 §5.2). */
function oauthErrorOf({ text }: HttpResponse): string | undefined {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === 'string' && error !== '' ? error : undefined;
  } catch {
    return undefined;
  }
}

/** The query of a redirect to this URI; undefined where the response is none. */
function redirectQuery(response: HttpResponse, uri: string): URLSearchParams | undefined {
  const { location } = response.headers;
  if (typeof location !== 'string') return undefined;
  const isRedirect = response.status >= 300 && response.status < 400 && location.startsWith(`${uri}?`);
  return isRedirect ? new URLSearchParams(location.slice(uri.length)) : undefined;
}
