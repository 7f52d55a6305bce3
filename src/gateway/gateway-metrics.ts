import type { Registry } from 'prom-client';
import { GATEWAY_PROBLEMS } from '../errors.ts';
import { createCounter, createGauge } from '../observability/prometheus.ts';

export type GatewayMetrics = ReturnType<typeof createGatewayMetrics>;

/** Problem codes that the gateway sends. `other` covers codes that API requests should never get. */
export const PROBLEM_CODES = [
  ...(Object.keys(GATEWAY_PROBLEMS) as (keyof typeof GATEWAY_PROBLEMS)[]),
  'other',
] as const;

export function createGatewayMetrics(registry: Registry) {
  const count = createCounter(registry, {
    name: 'cloakroom_api_problems_total',
    help: 'Problem responses that the gateway itself sent for API requests, by code.',
    values: { code: PROBLEM_CODES },
  });
  const known: ReadonlySet<string> = new Set(PROBLEM_CODES);
  return {
    /** Counts a problem response from the gateway. */
    countProblem: (code: string) =>
      count({ code: known.has(code) ? (code as (typeof PROBLEM_CODES)[number]) : 'other' }),
    /** Adds one gateway's requests in flight to the gauge. */
    watchInFlight: createGauge(registry, {
      name: 'cloakroom_api_requests_in_flight',
      help: 'In-flight API requests that have a session.',
      combine: (values) => values.reduce((sum, value) => sum + value, 0),
    }),
  };
}
