import type { Registry } from 'prom-client';
import { GATEWAY_PROBLEMS } from '../errors.ts';
import { createCounter, createGauge } from '../observability/counter.ts';
import type { Watch } from '../observability/counter.ts';

/** What the metrics tell of the gateway alone. */
export interface CallMetrics {
  /** A call was answered by the gateway itself, with this code. */
  refused(code: string): void;
  /** Calls in flight now. */
  readonly watchInFlight: Watch;
}

/** Codes of problems of the gateway; `other` takes any code that no API request should get. */
export const REFUSAL_CODES = [
  ...(Object.keys(GATEWAY_PROBLEMS) as (keyof typeof GATEWAY_PROBLEMS)[]),
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
