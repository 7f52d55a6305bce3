import type { Registry } from 'prom-client';
import { createCounter } from '../observability/prometheus.ts';
import { toAppError, type ProblemCode } from '../errors.ts';

export const SIGN_IN_OUTCOMES = [
  'started',
  'signed_in',
  'denied',
  'refused',
  'unknown_state',
  'token_endpoint',
  'redis',
  'too_many',
] as const;

/** What became of a sign-in, or of a step of it. */
export type SignInOutcome = (typeof SIGN_IN_OUTCOMES)[number];

/** Counts sign-ins. */
export type CountSignIn = (outcome: SignInOutcome) => void;

export function createSignInMetrics(registry: Registry): CountSignIn {
  const count = createCounter(registry, {
    name: 'cloakroom_sign_ins_total',
    help: 'Steps of signing in: begun, done, or why they failed.',
    values: { outcome: SIGN_IN_OUTCOMES },
  });
  return (outcome) => count({ outcome });
}

const BY_CODE: Partial<Readonly<Record<ProblemCode, SignInOutcome>>> = {
  access_denied: 'denied',
  authorization_failed: 'refused',
  code_missing: 'refused',
  code_refused: 'refused',
  sign_in_attempt_unknown: 'unknown_state',
  code_exchange_failed: 'token_endpoint',
  session_store_unavailable: 'redis',
};

/** What a failure of a sign-in counts as; null where it was none of its own. */
export function toSignInOutcome(error: unknown): SignInOutcome | null {
  const { code, status } = toAppError(error);
  return status === 429 ? 'too_many' : (BY_CODE[code] ?? null);
}
