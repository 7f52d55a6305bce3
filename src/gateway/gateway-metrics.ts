import type { Registry } from 'prom-client';
import { GATEWAY_PROBLEMS } from '../errors.ts';
import { createCounter, createGauge, type Watch } from '../observability/prometheus.ts';

export interface GatewayMetrics {
  /** Counts a problem that the gateway responded with. */
  countProblem(code: string): void;
  /** Adds the requests in flight of one gateway to the gauge. */
  readonly watchInFlight: Watch;
}

/** Codes of the gateway's problems. `other` takes any code that no API request should get. */
export const PROBLEM_CODES = [
  ...(Object.keys(GATEWAY_PROBLEMS) as (keyof typeof GATEWAY_PROBLEMS)[]),
  'other',
] as const;

export function createGatewayMetrics(registry: Registry): GatewayMetrics {
  const count = createCounter(registry, {
    name: 'cloakroom_api_problems_total',
    help: 'API requests that got a problem response from the gateway itself, by code.',
    values: { code: PROBLEM_CODES },
  });
  const known: ReadonlySet<string> = new Set(PROBLEM_CODES);
  return {
    countProblem: (code) =>
      count({ code: known.has(code) ? (code as (typeof PROBLEM_CODES)[number]) : 'other' }),
    watchInFlight: createGauge(registry, {
      name: 'cloakroom_api_requests_in_flight',
      help: 'API requests with a session that are in flight.',
      combine: (values) => values.reduce((sum, value) => sum + value, 0),
    }),
  };
}
