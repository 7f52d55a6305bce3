import type { Registry } from 'prom-client';
import { createDurationHistogram } from '../observability/prometheus.ts';

export const GRANTS = ['authorization_code', 'refresh_token'] as const;
export const TOKEN_ENDPOINT_OUTCOMES = ['granted', 'invalid_grant', 'refused', 'unavailable'] as const;

/** What a call of the token endpoint is for (RFC 6749 §4.1.3, §6). */
export type GrantType = (typeof GRANTS)[number];
export type TokenEndpointOutcome = (typeof TOKEN_ENDPOINT_OUTCOMES)[number];

/** Counts calls of the token endpoint. */
export interface TokenEndpointMetrics {
  answered(grant: GrantType, outcome: TokenEndpointOutcome, ms: number): void;
}

export function createTokenEndpointMetrics(registry: Registry): TokenEndpointMetrics {
  const calls = createDurationHistogram(registry, {
    name: 'cloakroom_token_endpoint_duration_seconds',
    help: 'Calls of the service’s token endpoint, by grant and outcome.',
  });
  const all = new Map(
    GRANTS.flatMap((grant) =>
      TOKEN_ENDPOINT_OUTCOMES.map(
        (outcome) => [`${grant} ${outcome}`, calls.series({ grant, outcome })] as const,
      ),
    ),
  );
  return {
    answered: (grant, outcome, ms) => all.get(`${grant} ${outcome}`)?.observe(ms / 1_000),
  };
}
