import { Router } from 'express';
import type { Registry } from 'prom-client';
import { createGauge } from './prometheus.ts';

type HealthMetrics = ReturnType<typeof createHealthMetrics>;

/** Registers the health check gauges. A process with several apps is ready if all apps are ready, and draining if any app is draining. */
export function createHealthMetrics(registry: Registry) {
  return {
    watchReady: createGauge(registry, {
      name: 'cloakroom_ready',
      help: '1 while /readyz returns 200, otherwise 0.',
      combine: (values) => (values.length > 0 && values.every((value) => value === 1) ? 1 : 0),
    }),
    watchDraining: createGauge(registry, {
      name: 'cloakroom_draining',
      help: '1 after the signal that shuts the process down, otherwise 0.',
      combine: (values) => (values.includes(1) ? 1 : 0),
    }),
  };
}

/**
 * Serves the health checks. `GET /healthz` returns 200 while the process is running. `GET /readyz` responds within two seconds: with 200
 * while the process can serve requests, otherwise with 503 and a `missing` list. While Redis is full, the process is ready but `limited`,
 * because users can't sign in. The gauges report the same state; `metrics` is null if metrics are off.
 */
export function createHealthRouter({
  servesSessions,
  isRedisFull,
  isDraining = () => false,
  metrics = null,
}: {
  readonly servesSessions: () => Promise<boolean>;
  readonly isRedisFull: () => Promise<boolean>;
  readonly isDraining?: () => boolean;
  readonly metrics?: HealthMetrics | null;
}): Router {
  const check = async () => {
    const [serves, isFull] = await Promise.all([servesSessions(), isRedisFull()]);
    return { missing: [...(serves ? [] : ['redis']), ...(isDraining() ? ['draining'] : [])], isFull };
  };
  metrics?.watchReady(async () => ((await check()).missing.length === 0 ? 1 : 0));
  metrics?.watchDraining(async () => (isDraining() ? 1 : 0));

  const router = Router({ caseSensitive: true });
  router.get('/healthz', (_req, res) => {
    res.json({ status: 'ok' });
  });
  router.get('/readyz', async (_req, res) => {
    const { missing, isFull } = await check();
    if (missing.length > 0) res.status(503).json({ status: 'not ready', missing });
    else res.json({ status: 'ready', ...(isFull && { limited: ['redis_full'] }) });
  });
  return router;
}
