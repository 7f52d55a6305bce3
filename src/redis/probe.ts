import { Cluster, type Redis } from 'ioredis';
import { settlesWithin } from '../promises.ts';
import { isFull, parseInfo } from './info.ts';
import type { ReadSession } from './session-reads.ts';

/** Number of keys to probe in a cluster. Each master of a usual cluster then has at least one. */
const CLUSTER_PROBES = 16;
/** Maximum wait for INFO, in ms. Load balancers often wait one second for a health check. */
const INFO_TIMEOUT_MS = 500;

/** Names keys that never exist, to test whether they can be read; in a cluster some for each master. */
export function probeKeys(redis: Redis | Cluster, prefix: string): string[] {
  const probes = redis instanceof Cluster ? CLUSTER_PROBES : 1;
  return Array.from({ length: probes }, (_, at) => `${prefix}readyz:${at}`);
}

/**
 * Whether Redis serves sessions, tested by the read that each request makes. A Redis that refuses writes (READONLY, MISCONF,
 * NOREPLICAS) refuses `GETEX` too, although it replies to PING. One master of a cluster is enough, because the outage of
 * another must not take every process out of the load balancer.
 */
export async function servesSessions(
  redis: Redis | Cluster,
  readSession: ReadSession,
  prefix: string,
): Promise<boolean> {
  return Promise.any(probeKeys(redis, prefix).map(readSession)).then(
    () => true,
    () => false,
  );
}

/** Whether any master is full. A master without a reply within 0.5 s counts as not full. */
export async function isAnyMasterFull(redis: Redis | Cluster): Promise<boolean> {
  const masters = redis instanceof Cluster ? redis.nodes('master') : [redis];
  const replies = masters.map(async (node) => {
    const full = node.info('memory').then(
      (text) => isFull(parseInfo(text)),
      () => false,
    );
    return (await settlesWithin(full, INFO_TIMEOUT_MS)) && full;
  });
  return (await Promise.all(replies)).includes(true);
}
