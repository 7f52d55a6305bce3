import type { Build } from './config/build-info.ts';
import { createReloadMetrics } from './config/secrets-reload.ts';
import { createGatewayMetrics } from './gateway/gateway-metrics.ts';
import { createRequestMetrics } from './http/access-log.ts';
import { createOAuthMetrics } from './oauth/metrics.ts';
import { createHealthMetrics } from './observability/health.ts';
import { createRegistry } from './observability/prometheus.ts';
import { createRedisMetrics } from './redis/redis-metrics.ts';
import { ROUTES } from './routes.ts';
import { createSessionMetrics } from './session/events.ts';
import { createServiceMetrics } from './upstream/service-metrics.ts';

/** Values of the `caller` label: the parts of Cloakroom that send upstream requests. */
export const CALLERS = ['gateway', 'pages'] as const;

/** Registers all Cloakroom metrics, which are defined next to the code that records them. */
export function createMetrics(build: Build) {
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
