import { repeatedName, toParameters } from './request-parameters.ts';

/** An authorization request in which every parameter is as it must be. */
export interface AuthorizationRequest {
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  /** As it stands in the request's address, its encoding included. */
  readonly rawState?: string;
  /** S256 (RFC 7636 §4.2). */
  readonly codeChallenge?: string;
}

/** What the authorization endpoint may do with a request. */
export type AuthorizationVerdict =
  /** Nowhere to redirect to that can be trusted: the user is told why. */
  | { readonly kind: 'shown'; readonly detail: string }
  /** The client's mistake, told to the client: `location` carries error, error_description and state. */
  | { readonly kind: 'refused'; readonly location: string }
  | { readonly kind: 'accepted'; readonly request: AuthorizationRequest };

/** What the app was registered with. */
export interface Registration {
  readonly clientId: string;
  readonly redirectUris: readonly string[];
  readonly scopes: readonly string[];
}

/** An S256 challenge is the SHA-256 of the verifier, 32 bytes as base64url (RFC 7636 §4.2). */
const S256_CHALLENGE = /^[A-Za-z0-9_-]{43}$/;

/**
 * Judges the parameters of interface 4.1 and of RFC 7636 §4.3, in the order of RFC 6749 §4.1.2.1: client and
 * redirect URI first, because whatever else is wrong is told by a redirect. A parameter without a value counts as absent.
 */
export function judgeAuthorizationRequest(
  rawQuery: string,
  registration: Registration,
): AuthorizationVerdict {
  const query = toParameters(rawQuery);
  if (query.getAll('client_id').length > 1 || query.getAll('redirect_uri').length > 1) {
    return { kind: 'shown', detail: 'client_id or redirect_uri is repeated.' };
  }
  if (query.get('client_id') !== registration.clientId) {
    return { kind: 'shown', detail: 'No app with this client_id is registered here.' };
  }
  const redirectUri = query.get('redirect_uri') ?? '';
  if (!registration.redirectUris.includes(redirectUri)) {
    return { kind: 'shown', detail: 'redirect_uri is missing or is not one that the app registered.' };
  }

  const rawState = findRawState(rawQuery);
  const refusal = findRefusal(query, registration.scopes);
  if (refusal !== undefined) {
    const [error, description] = refusal;
    return {
      kind: 'refused',
      location: toCallback(redirectUri, { error, error_description: description }, rawState),
    };
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

/** The redirect URI with these parameters added; its own query stays as it was registered (RFC 6749 §3.1.2). */
export function toCallback(
  redirectUri: string,
  parameters: Readonly<Record<string, string>>,
  rawState: string | undefined,
): string {
  const added = new URLSearchParams(parameters).toString();
  const state = rawState === undefined ? '' : `&state=${rawState}`;
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${added}${state}`;
}

/** The state as it came: read and written anew, bytes that aren't UTF-8 would come back as others. */
function findRawState(rawQuery: string): string | undefined {
  const [state, ...more] = rawQuery.split('&').filter((pair) => toParameters(pair).has('state'));
  return more.length > 0 ? undefined : /=(.+)$/s.exec(state ?? '')?.[1];
}

type Refusal = readonly [error: string, description: string];

function findRefusal(query: URLSearchParams, registeredScopes: readonly string[]): Refusal | undefined {
  if (repeatedName(query) !== undefined) return ['invalid_request', 'A parameter is repeated.'];
  return (
    findResponseTypeRefusal(query) ?? findScopeRefusal(query, registeredScopes) ?? findPkceRefusal(query)
  );
}

function findResponseTypeRefusal(query: URLSearchParams): Refusal | undefined {
  const type = query.get('response_type') || undefined;
  if (type === undefined) return ['invalid_request', 'response_type is missing.'];
  return type === 'code' ? undefined : ['unsupported_response_type', 'response_type must be code.'];
}

function findScopeRefusal(query: URLSearchParams, registered: readonly string[]): Refusal | undefined {
  if (!query.get('scope')) return ['invalid_request', 'scope is missing.'];
  if (toScopes(query).includes('')) return ['invalid_scope', 'scope must have one space between two scopes.'];
  const known = toScopes(query).every((scope) => registered.includes(scope));
  return known ? undefined : ['invalid_scope', 'scope names one that the app did not register.'];
}

function findPkceRefusal(query: URLSearchParams): Refusal | undefined {
  const challenge = query.get('code_challenge') || undefined;
  const method = query.get('code_challenge_method') || undefined;
  if (challenge === undefined) {
    return method === undefined ? undefined : ['invalid_request', 'code_challenge is missing.'];
  }
  // Without a method it would be "plain" (RFC 7636 §4.3), which shows the verifier to whoever sees the address.
  if (method !== 'S256') return ['invalid_request', 'code_challenge_method must be S256.'];
  return S256_CHALLENGE.test(challenge) ? undefined : ['invalid_request', 'code_challenge is malformed.'];
}

/** Each scope once, in the order asked for. */
function toScopes(query: URLSearchParams): string[] {
  return [...new Set((query.get('scope') ?? '').split(' '))];
}
