import { hasRepeatedName, parseParameters } from './request-parameters.ts';

/** An authorization request with only valid parameters. */
export interface AuthorizationRequest {
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  /** The `state`, still encoded as in the request. */
  readonly rawState?: string;
  /** The S256 challenge (RFC 7636 §4.2). */
  readonly codeChallenge?: string;
}

/** The result of checking an authorization request. */
type AuthorizationCheck =
  /** The redirect URI can't be trusted, so the error is shown to the user. */
  | { readonly kind: 'untrusted'; readonly detail: string }
  /** The request is invalid. The redirect to `location` passes the error and the state to the client. */
  | { readonly kind: 'refused'; readonly location: string }
  | { readonly kind: 'accepted'; readonly request: AuthorizationRequest };

export interface Registration {
  readonly clientId: string;
  readonly redirectUris: readonly string[];
  readonly scopes: readonly string[];
}

/** An S256 challenge: the SHA-256 hash of the verifier, 32 bytes in base64url (RFC 7636 §4.2). */
const S256_CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/**
 * Checks the parameters (interface 4.1, RFC 7636 §4.3) in the order given in RFC 6749 §4.1.2.1. The client and the redirect
 * URI come first, because all other errors are reported in a redirect. A parameter without a value is treated as absent.
 */
export function checkAuthorizationRequest(rawQuery: string, registration: Registration): AuthorizationCheck {
  const query = parseParameters(rawQuery);
  if (query.getAll('client_id').length > 1 || query.getAll('redirect_uri').length > 1)
    return { kind: 'untrusted', detail: 'client_id or redirect_uri is repeated.' };
  if (query.get('client_id') !== registration.clientId)
    return { kind: 'untrusted', detail: 'No app with this client_id is registered here.' };
  const redirectUri = query.get('redirect_uri') ?? '';
  if (!registration.redirectUris.includes(redirectUri))
    return { kind: 'untrusted', detail: 'redirect_uri is missing, or the app has not registered it.' };

  const rawState = findRawState(rawQuery);
  const problem = findProblem(query, registration.scopes);
  if (problem !== undefined) {
    const [error, error_description] = problem;
    return { kind: 'refused', location: toCallback(redirectUri, { error, error_description }, rawState) };
  }
  const codeChallenge = query.get('code_challenge') || undefined;
  return {
    kind: 'accepted',
    request: {
      redirectUri,
      scopes: toScopes(query),
      ...(rawState !== undefined && { rawState }),
      ...(codeChallenge !== undefined && { codeChallenge }),
    },
  };
}

/** Adds parameters to the redirect URI, and keeps the registered query of the URI (RFC 6749 §3.1.2). */
export function toCallback(
  redirectUri: string,
  parameters: Readonly<Record<string, string>>,
  rawState: string | undefined,
): string {
  const added = new URLSearchParams(parameters).toString();
  const state = rawState === undefined ? '' : `&state=${rawState}`;
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${added}${state}`;
}

/** Finds the state without decoding it, because decoding would change bytes that are not UTF-8. */
function findRawState(rawQuery: string): string | undefined {
  const [state, ...more] = rawQuery.split('&').filter((pair) => parseParameters(pair).has('state'));
  return more.length > 0 ? undefined : /=(.+)$/s.exec(state ?? '')?.[1];
}

type Problem = readonly [error: string, description: string];

function findProblem(query: URLSearchParams, registeredScopes: readonly string[]): Problem | undefined {
  if (hasRepeatedName(query)) return ['invalid_request', 'A parameter is repeated.'];

  const responseType = query.get('response_type');
  if (!responseType) return ['invalid_request', 'response_type is missing.'];
  if (responseType !== 'code') return ['unsupported_response_type', 'response_type must be code.'];

  if (!query.get('scope')) return ['invalid_request', 'scope is missing.'];
  const scopes = toScopes(query);
  if (scopes.includes('')) return ['invalid_scope', 'scope must have one space between two scopes.'];
  if (!scopes.every((scope) => registeredScopes.includes(scope)))
    return ['invalid_scope', 'scope contains a value that the app did not register.'];

  const challenge = query.get('code_challenge');
  const method = query.get('code_challenge_method');
  if (!challenge) return method ? ['invalid_request', 'code_challenge is missing.'] : undefined;
  // The default method is "plain" (RFC 7636 §4.3), which would put the verifier itself in the URL.
  if (method !== 'S256') return ['invalid_request', 'code_challenge_method must be S256.'];
  return S256_CHALLENGE.test(challenge) ? undefined : ['invalid_request', 'code_challenge is malformed.'];
}

/** Returns the requested scopes without duplicates, in the original order. */
function toScopes(query: URLSearchParams): string[] {
  return [...new Set((query.get('scope') ?? '').split(' '))];
}
