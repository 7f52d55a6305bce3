import type { Registry } from 'prom-client';
import { createRenewalMetrics } from './auth/renewal-metrics.ts';
import type { RenewalMetrics } from './auth/renewal-metrics.ts';
import { createSignInMetrics } from './auth/sign-in-metrics.ts';
import type { CountSignIn } from './auth/sign-in-metrics.ts';
import { createTokenEndpointMetrics } from './auth/token-endpoint-metrics.ts';
import type { TokenEndpointMetrics } from './auth/token-endpoint-metrics.ts';
import { createCallMetrics } from './gateway/call-metrics.ts';
import type { CallMetrics } from './gateway/call-metrics.ts';
import type { Build } from './platform/build.ts';
import { createHealthMetrics } from './platform/health-metrics.ts';
import type { HealthMetrics } from './platform/health-metrics.ts';
import { createMetrics } from './platform/metrics.ts';
import { createRedisMetrics } from './platform/redis-metrics.ts';
import type { RedisMetrics } from './platform/redis-metrics.ts';
import { createRequestMetrics } from './platform/request-metrics.ts';
import type { RequestMetrics } from './platform/request-metrics.ts';
import { createServiceMetrics } from './platform/service-metrics.ts';
import type { ServiceAnswered } from './platform/service-metrics.ts';
import { ROUTES } from './route-names.ts';
import { createReloadMetrics } from './secrets-reload-metrics.ts';
import type { CountReload } from './secrets-reload-metrics.ts';
import { createSessionMetrics } from './session/session-metrics.ts';
import type { SessionMetrics } from './session/session-metrics.ts';

/** Who calls the service. */
export const CALLERS = ['gateway', 'pages'] as const;

/** All that a process counts, each for the room that knows of it. */
export interface Meters {
  /** Whence they are read. */
  readonly registry: Registry;
  readonly requests: RequestMetrics;
  readonly calls: CallMetrics;
  readonly service: Readonly<Record<(typeof CALLERS)[number], ServiceAnswered>>;
  readonly tokenEndpoint: TokenEndpointMetrics;
  readonly renewals: RenewalMetrics;
  readonly countSignIn: CountSignIn;
  readonly sessions: SessionMetrics;
  readonly redis: RedisMetrics;
  readonly health: HealthMetrics;
  readonly countReload: CountReload;
}

/** Makes them, once for a process: a registry takes each name a single time, however many apps count in it. */
export function createMeters(build: Build): Meters {
  const registry = createMetrics(build);
  return {
    registry,
    requests: createRequestMetrics(registry, ROUTES),
    calls: createCallMetrics(registry),
    service: createServiceMetrics(registry, CALLERS),
    tokenEndpoint: createTokenEndpointMetrics(registry),
    renewals: createRenewalMetrics(registry),
    countSignIn: createSignInMetrics(registry),
    sessions: createSessionMetrics(registry),
    redis: createRedisMetrics(registry),
    health: createHealthMetrics(registry),
    countReload: createReloadMetrics(registry),
  };
}
