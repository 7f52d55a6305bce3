import type { Registry } from 'prom-client';
import { createCounter } from '../observability/prometheus.ts';

/** Why a session ended. One that expires unused only expires in Redis, and is not counted. */
export const ENDS_OF_SESSION = [
  'signed_out',
  'signed_in_again',
  'invalid_grant',
  'no_refresh_token',
  'age',
] as const;
export type EndOfSession = (typeof ENDS_OF_SESSION)[number];

export interface SessionMetrics {
  started(): void;
  ended(cause: EndOfSession): void;
}

export function createSessionMetrics(registry: Registry): SessionMetrics {
  const started = createCounter(registry, {
    name: 'cloakroom_sessions_started_total',
    help: 'Sessions started by a sign-in.',
    values: {},
  });
  const ended = createCounter(registry, {
    name: 'cloakroom_sessions_ended_total',
    help: 'Ended sessions, by cause. Sessions that expire unused are not counted.',
    values: { cause: ENDS_OF_SESSION },
  });
  return { started: () => started({}), ended: (cause) => ended({ cause }) };
}
