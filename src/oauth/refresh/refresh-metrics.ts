import type { Registry } from 'prom-client';
import { createCounter, createDurationHistogram } from '../../observability/prometheus.ts';

/** Why somebody asks for a renewal: the token is spent; it soon will be; the service has refused it (401). */
export const RENEWAL_TRIGGERS = ['spent', 'ahead', 'refused'] as const;
/** Whether this process asked the token endpoint, found the result of another renewal, or found none. */
export const RENEWAL_OUTCOMES = ['led', 'joined', 'failed'] as const;
/**
 * Why a renewal failed: the token endpoint said `invalid_grant`, or refused in another way, or could not be asked; there was
 * no refresh token to ask it with; Redis was away; another process’s renewal did not come to an end.
 */
export const RENEWAL_FAILURES = [
  'invalid_grant',
  'no_refresh_token',
  'refused',
  'token_endpoint',
  'redis',
  'lock',
] as const;

export type RenewalTrigger = (typeof RENEWAL_TRIGGERS)[number];
type RenewalOutcome = (typeof RENEWAL_OUTCOMES)[number];
type RenewalFailure = (typeof RENEWAL_FAILURES)[number];

/** Counts renewals. */
export interface RenewalMetrics {
  /** Somebody asked for one, and this came of it. */
  asked(trigger: RenewalTrigger, outcome: RenewalOutcome): void;
  /** One has failed, however many wait for it. */
  failed(cause: RenewalFailure): void;
  /** Another process was waited for, for so long. */
  waited(ms: number): void;
}

export function createRenewalMetrics(registry: Registry): RenewalMetrics {
  const asked = createCounter(registry, {
    name: 'cloakroom_renewals_total',
    help: 'Renewals that somebody asked for, by why and by what came of it.',
    values: { trigger: RENEWAL_TRIGGERS, outcome: RENEWAL_OUTCOMES },
  });
  const failed = createCounter(registry, {
    name: 'cloakroom_renewal_failures_total',
    help: 'Renewals that failed, by cause.',
    values: { cause: RENEWAL_FAILURES },
  });
  const waits = createDurationHistogram(registry, {
    name: 'cloakroom_renewal_lock_wait_seconds',
    help: 'How long a renewal waited for one of another process.',
  }).series({});
  return {
    asked: (trigger, outcome) => asked({ trigger, outcome }),
    failed: (cause) => failed({ cause }),
    waited: (ms) => waits.observe(ms / 1_000),
  };
}
