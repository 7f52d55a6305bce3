import type { Registry } from 'prom-client';
import { createOAuthMetrics, type OAuthMetrics } from './oauth/metrics.ts';
import { createGatewayMetrics, type GatewayMetrics } from './gateway/gateway-metrics.ts';
import type { Build } from './config/build-info.ts';
import { createHealthMetrics, type HealthMetrics } from './observability/health.ts';
import { createRegistry } from './observability/prometheus.ts';
import { createRedisMetrics } from './redis/redis-metrics.ts';
import type { RedisMetrics } from './redis/redis-metrics.ts';
import { createRequestMetrics, type RequestMetrics } from './http/access-log.ts';
import { createServiceMetrics } from './upstream/service-metrics.ts';
import type { RecordServiceResponse } from './upstream/service-metrics.ts';
import { ROUTES } from './routes.ts';
import { createReloadMetrics } from './config/secrets-reload.ts';
import { createSessionMetrics } from './session/session-metrics.ts';
import type { SessionMetrics } from './session/session-metrics.ts';

/** Who calls the service. */
export const CALLERS = ['gateway', 'pages'] as const;

/** All that a process counts, each for the room that knows of it. */
export interface Metrics {
  /** Whence they are read. */
  readonly registry: Registry;
  readonly requests: RequestMetrics;
  readonly gateway: GatewayMetrics;
  readonly service: Readonly<Record<(typeof CALLERS)[number], RecordServiceResponse>>;
  readonly oauth: OAuthMetrics;
  readonly sessions: SessionMetrics;
  readonly redis: RedisMetrics;
  readonly health: HealthMetrics;
  readonly countReload: ReturnType<typeof createReloadMetrics>;
}

/** Makes them, once for a process: a registry takes each name a single time, however many apps count in it. */
export function createMetrics(build: Build): Metrics {
  const registry = createRegistry(build);
  return {
    registry,
    requests: createRequestMetrics(registry, ROUTES),
    gateway: createGatewayMetrics(registry),
    service: createServiceMetrics(registry, CALLERS),
    oauth: createOAuthMetrics(registry),
    sessions: createSessionMetrics(registry),
    redis: createRedisMetrics(registry),
    health: createHealthMetrics(registry),
    countReload: createReloadMetrics(registry),
  };
}
