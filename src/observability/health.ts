import { Router } from 'express';
import type { Registry } from 'prom-client';
import { Cluster } from 'ioredis';
import { settlesWithin } from '../promises.ts';
import type { Getex } from '../redis/getex.ts';
import { createGauge, type Watch } from './prometheus.ts';
import { probeKeys } from '../redis/probe.ts';
import type { RedisClient } from '../redis/client.ts';

/** Gauges of the health checks, read at each scrape: 1 for yes, 0 for no. */
export interface HealthMetrics {
  readonly watchReady: Watch;
  readonly watchDraining: Watch;
}

/** With several apps in a process, all of them have to be ready, and draining starts with the first. */
export function createHealthMetrics(registry: Registry): HealthMetrics {
  return {
    watchReady: createGauge(registry, {
      name: 'cloakroom_ready',
      help: '1 while /readyz is 200, otherwise 0.',
      combine: (values) => (values.length > 0 && values.every((value) => value === 1) ? 1 : 0),
    }),
    watchDraining: createGauge(registry, {
      name: 'cloakroom_draining',
      help: '1 after the signal that shuts the process down, before that 0.',
      combine: (values) => (values.includes(1) ? 1 : 0),
    }),
  };
}

/** Balancers often give an answer no more than a second. */
const TELL_WITHIN_MS = 500;

/**
 * `GET /healthz` is 200 while the process works; `GET /readyz` is 200 while it can serve, or 503 with what is missing,
 * always within two seconds. With Redis full it serves, but nobody can sign in: ready, and `limited`. Neither says
 * more than that. `prefix` starts every key. `metrics` tell the same, asked anew whenever they are read; null where nobody
 * does.
 */
export function createHealthRouter(
  redis: RedisClient,
  getex: Getex,
  prefix: string,
  isDraining: () => boolean = () => false,
  metrics: HealthMetrics | null = null,
): Router {
  const look = async () => {
    const [serves, full] = await Promise.all([servesSessions(redis, getex, prefix), isFull(redis)]);
    return { missing: [...(serves ? [] : ['redis']), ...(isDraining() ? ['draining'] : [])], full };
  };
  metrics?.watchReady(async () => ((await look()).missing.length === 0 ? 1 : 0));
  metrics?.watchDraining(async () => (isDraining() ? 1 : 0));

  const router = Router({ caseSensitive: true });
  router.get('/healthz', (_req, res) => {
    res.json({ status: 'ok' });
  });
  router.get('/readyz', async (_req, res) => {
    const { missing, full } = await look();
    if (missing.length > 0) res.status(503).json({ status: 'not ready', missing });
    else res.json({ status: 'ready', ...(full && { limited: ['redis_full'] }) });
  });
  return router;
}

/**
 * Asks the way every call does: GETEX, which a Redis that takes no writes (READONLY, MISCONF, NOREPLICAS) refuses while
 * it answers PING. The keys never exist, so nothing is read or written. One master of a cluster is enough: the outage
 * of another must not take every process out of the balancer.
 */
async function servesSessions(redis: RedisClient, getex: Getex, prefix: string): Promise<boolean> {
  const asked = probeKeys(redis, prefix).map(async (key) => getex(key, 1));
  return Promise.any(asked).then(
    () => true,
    () => false,
  );
}

/**
 * Whether any master refuses what needs memory. One that won't tell, as an ACL may have it, or not now, counts as not
 * full: who serves is ready at once, whatever the others do.
 */
async function isFull(redis: RedisClient): Promise<boolean> {
  const masters = redis instanceof Cluster ? redis.nodes('master') : [redis];
  const told = masters.map(async (node) => {
    const full = node.info('memory').then(tellsFull, () => false);
    return (await settlesWithin(full, TELL_WITHIN_MS)) && full;
  });
  return (await Promise.all(told)).includes(true);
}

/** Judges `INFO memory` as Redis itself does before a command that needs memory. */
function tellsFull(info: string): boolean {
  const field = (name: string) => new RegExp(`^${name}:(\\S+)`, 'm').exec(info)?.[1];
  const most = Number(field('maxmemory') ?? 0);
  const counted = Number(field('used_memory') ?? 0) - Number(field('mem_not_counted_for_evict') ?? 0);
  return field('maxmemory_policy') === 'noeviction' && most > 0 && counted > most;
}
