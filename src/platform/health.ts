import { Router } from 'express';
import { fromStore } from './redis.ts';
import type { RedisClient } from './redis.ts';

/**
 * `GET /healthz` is 200 while the process works; `GET /readyz` is 200 while it can serve, or 503 with what is missing.
 * Neither says more than that.
 */
export function createHealthRouter(redis: RedisClient, isDraining: () => boolean): Router {
  const router = Router();
  router.get('/healthz', (_req, res) => {
    res.json({ status: 'ok' });
  });
  router.get('/readyz', async (_req, res) => {
    const redisAnswers = await fromStore(redis.ping()).then(
      () => true,
      () => false,
    );
    const missing = [...(redisAnswers ? [] : ['redis']), ...(isDraining() ? ['draining'] : [])];
    if (missing.length === 0) res.json({ status: 'ready' });
    else res.status(503).json({ status: 'not ready', missing });
  });
  return router;
}
