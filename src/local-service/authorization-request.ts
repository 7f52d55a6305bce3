import { repeatedName } from './form-body.ts';

/** An authorization request in which every parameter is as it must be. */
export interface AuthorizationRequest {
  readonly redirectUri: string;
  readonly scopes: readonly string[];
  readonly state?: string;
  /** S256 (RFC 7636 §4.2). */
  readonly codeChallenge?: string;
}

/** What the authorization endpoint may do with a request. */
export type AuthorizationVerdict =
  /** Nowhere to redirect to that can be trusted: the user is told why. */
  | { readonly kind: 'shown'; readonly detail: string }
  /** The client's fault, told to the client: `location` carries error, error_description and state. */
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
 * redirect URI first, because every other fault is told by a redirect. A parameter without a value counts as absent.
 */
export function judgeAuthorizationRequest(
  query: URLSearchParams,
  registration: Registration,
): AuthorizationVerdict {
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

  const state = toState(query);
  const fault = findFault(query, registration.scopes);
  if (fault !== undefined) {
    const [error, description] = fault;
    return {
      kind: 'refused',
      location: toCallback(redirectUri, { error, error_description: description, state }),
    };
  }
  const codeChallenge = query.get('code_challenge') || undefined;
  return {
    kind: 'accepted',
    request: {
      redirectUri,
      scopes: toScopes(query),
      ...(state !== undefined && { state }),
      ...(codeChallenge !== undefined && { codeChallenge }),
    },
  };
}

/** The redirect URI with these parameters added; its own query stays as it was registered (RFC 6749 §3.1.2). */
export function toCallback(
  redirectUri: string,
  parameters: Readonly<Record<string, string | undefined>>,
): string {
  const added = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) if (value !== undefined) added.set(name, value);
  return `${redirectUri}${redirectUri.includes('?') ? '&' : '?'}${added.toString()}`;
}

/** The state where it can be returned unchanged: bytes that aren't UTF-8 were replaced when the query was read. */
function toState(query: URLSearchParams): string | undefined {
  const [state, ...more] = query.getAll('state');
  return state === undefined || more.length > 0 || state.includes('\uFFFD') ? undefined : state || undefined;
}

type Fault = readonly [error: string, description: string];

function findFault(query: URLSearchParams, registeredScopes: readonly string[]): Fault | undefined {
  if (repeatedName(query) !== undefined) return ['invalid_request', 'A parameter is repeated.'];
  if (toState(query) === undefined && query.get('state')) return ['invalid_request', 'state is not UTF-8.'];
  return findResponseTypeFault(query) ?? findScopeFault(query, registeredScopes) ?? findPkceFault(query);
}

function findResponseTypeFault(query: URLSearchParams): Fault | undefined {
  const type = query.get('response_type') || undefined;
  if (type === undefined) return ['invalid_request', 'response_type is missing.'];
  return type === 'code' ? undefined : ['unsupported_response_type', 'response_type must be code.'];
}

function findScopeFault(query: URLSearchParams, registered: readonly string[]): Fault | undefined {
  if (!query.get('scope')) return ['invalid_request', 'scope is missing.'];
  const known = toScopes(query).every((scope) => registered.includes(scope));
  return known ? undefined : ['invalid_scope', 'scope names one that the app did not register.'];
}

function findPkceFault(query: URLSearchParams): Fault | undefined {
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
