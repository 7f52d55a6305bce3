import type { Registry } from 'prom-client';
import { createCounter } from '../observability/prometheus.ts';

/**
 * Why a session ended. One that runs out unused ends in Redis alone: nobody is told.
 */
export const ENDS_OF_SESSION = [
  'signed_out',
  'signed_in_again',
  'invalid_grant',
  'no_refresh_token',
  'age',
] as const;
export type EndOfSession = (typeof ENDS_OF_SESSION)[number];

/** Counts sessions. */
export interface SessionMetrics {
  started(): void;
  ended(cause: EndOfSession): void;
}

export function createSessionMetrics(registry: Registry): SessionMetrics {
  const started = createCounter(registry, {
    name: 'cloakroom_sessions_started_total',
    help: 'Sessions that sign-in began.',
    values: {},
  });
  const ended = createCounter(registry, {
    name: 'cloakroom_sessions_ended_total',
    help: 'Sessions that were ended, by cause; those that run out unused are not among them.',
    values: { cause: ENDS_OF_SESSION },
  });
  return { started: () => started({}), ended: (cause) => ended({ cause }) };
}
