import type { Registry } from 'prom-client';
import { createCounter, createGauge } from '../observability/counter.ts';
import type { Watch } from '../observability/counter.ts';

/** What the metrics tell of the gateway alone. */
export interface CallMetrics {
  /** A call was answered by the gateway itself, with this code. */
  refused(code: string): void;
  /** Calls in flight now. */
  readonly watchInFlight: Watch;
}

/** Those of contract section 4, and `other`, which no call has come to. A test holds them to the list that the console has. */
export const REFUSAL_CODES = [
  'sign_in_required',
  'session_expired',
  'cross_site_request',
  'path_not_allowed',
  'method_not_allowed',
  'too_busy',
  'bad_request',
  'bad_request_target',
  'body_too_large',
  'too_many_headers',
  'http_version_not_supported',
  'service_unreachable',
  'service_timeout',
  'token_endpoint_unavailable',
  'session_store_unavailable',
  'draining',
  'expectation_failed',
  'internal_error',
  'other',
] as const;
const KNOWN: ReadonlySet<string> = new Set(REFUSAL_CODES);

export function createCallMetrics(registry: Registry): CallMetrics {
  const refused = createCounter(registry, {
    name: 'cloakroom_refusals_total',
    help: 'Calls that the gateway answered itself, by the code of the problem.',
    values: { code: REFUSAL_CODES },
  });
  const watchInFlight = createGauge(registry, {
    name: 'cloakroom_calls_in_flight',
    help: 'Calls with a session that are under way.',
    together: (values) => values.reduce((sum, value) => sum + value, 0),
  });
  return {
    watchInFlight,
    refused: (code) =>
      refused({ code: KNOWN.has(code) ? (code as (typeof REFUSAL_CODES)[number]) : 'other' }),
  };
}
