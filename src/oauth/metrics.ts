import type { ErrorRequestHandler } from 'express';
import type { Registry } from 'prom-client';
import { toAppError, type ProblemCode } from '../errors.ts';
import { createCounter, createDurationHistogram, createOutcomeMetrics } from '../observability/prometheus.ts';

export const SIGN_IN_OUTCOMES = [
  'started',
  'signed_in',
  'denied',
  'refused',
  'unknown_state',
  'token_endpoint',
  'redis',
  'rate_limited',
] as const;

/** The grant types used in token requests (RFC 6749 §4.1.3, §6). */
export const GRANT_TYPES = ['authorization_code', 'refresh_token'] as const;
export const TOKEN_ENDPOINT_OUTCOMES = ['granted', 'invalid_grant', 'refused', 'unavailable'] as const;

/** Reasons for a refresh: the token of a request has expired, is about to expire, or was refused with a 401. */
export const REFRESH_TRIGGERS = ['expired', 'expiring', 'unauthorized'] as const;
/** Outcomes of a refresh: this process sent the token request, used the result of another refresh, or got no token. */
export const REFRESH_OUTCOMES = ['refreshed', 'joined', 'failed'] as const;
/**
 * Causes of a failed refresh. `invalid_grant` and `refused` are responses from the token endpoint; `token_endpoint` means that
 * it is unavailable. `lock` means that a refresh in another process did not finish.
 */
export const REFRESH_FAILURES = [
  'invalid_grant',
  'no_refresh_token',
  'refused',
  'token_endpoint',
  'redis',
  'lock',
] as const;

type SignInOutcome = (typeof SIGN_IN_OUTCOMES)[number];
export type GrantType = (typeof GRANT_TYPES)[number];
export type TokenEndpointOutcome = (typeof TOKEN_ENDPOINT_OUTCOMES)[number];
export type RefreshTrigger = (typeof REFRESH_TRIGGERS)[number];
type RefreshOutcome = (typeof REFRESH_OUTCOMES)[number];
type RefreshFailure = (typeof REFRESH_FAILURES)[number];

export type OAuthMetrics = ReturnType<typeof createOAuthMetrics>;

export function createOAuthMetrics(registry: Registry) {
  const signIns = createCounter(registry, {
    name: 'cloakroom_sign_ins_total',
    help: 'Sign-ins by outcome: started, signed_in, or why the sign-in failed.',
    values: { outcome: SIGN_IN_OUTCOMES },
  });
  const refreshes = createCounter(registry, {
    name: 'cloakroom_token_refreshes_total',
    help: 'Token refreshes that requests started or joined, by trigger and outcome.',
    values: { trigger: REFRESH_TRIGGERS, outcome: REFRESH_OUTCOMES },
  });
  const failures = createCounter(registry, {
    name: 'cloakroom_token_refresh_failures_total',
    help: 'Failed token refreshes by cause.',
    values: { cause: REFRESH_FAILURES },
  });
  const tokenRequests = createOutcomeMetrics(registry, {
    durations: {
      name: 'cloakroom_token_request_duration_seconds',
      help: 'Duration of token requests to the service by grant.',
    },
    total: {
      name: 'cloakroom_token_requests_total',
      help: 'Token requests to the service by grant and outcome.',
    },
    by: ['grant', GRANT_TYPES],
    outcomes: ['outcome', TOKEN_ENDPOINT_OUTCOMES],
    watched: TOKEN_ENDPOINT_OUTCOMES, // token requests are rare, so the first of each outcome matters
  });
  const waits = createDurationHistogram(registry, {
    name: 'cloakroom_token_refresh_wait_seconds',
    help: 'Time that a token refresh spent waiting for a refresh in another process.',
  }).series({});
  return {
    signIn: (outcome: SignInOutcome) => signIns({ outcome }),
    tokenRequest: (grant: GrantType, outcome: TokenEndpointOutcome, ms: number) =>
      tokenRequests.get(grant)?.(TOKEN_ENDPOINT_OUTCOMES.indexOf(outcome), ms),
    refresh: (trigger: RefreshTrigger, outcome: RefreshOutcome) => refreshes({ trigger, outcome }),
    /** Counts each failed refresh once, however many requests are waiting for it. */
    refreshFailed: (cause: RefreshFailure) => failures({ cause }),
    refreshWaited: (ms: number) => waits.observe(ms),
  };
}

const SIGN_IN_FAILURES: Partial<Readonly<Record<ProblemCode, SignInOutcome>>> = {
  access_denied: 'denied',
  authorization_failed: 'refused',
  code_missing: 'refused',
  code_refused: 'refused',
  sign_in_attempt_unknown: 'unknown_state',
  code_exchange_failed: 'token_endpoint',
  session_store_unavailable: 'redis',
  too_many_sign_ins: 'rate_limited',
};

/** Creates an Express error handler that counts a failed sign-in by problem code and passes the error on. */
export function countSignInFailure(metrics: OAuthMetrics | null): ErrorRequestHandler {
  return (error: unknown, _req, _res, next) => {
    const outcome = SIGN_IN_FAILURES[toAppError(error).code];
    if (outcome !== undefined) metrics?.signIn(outcome);
    next(error);
  };
}
