import { Cluster, type Redis } from 'ioredis';
import { settlesWithin } from '../promises.ts';
import { isFull, parseInfo } from './info.ts';
import type { ReadSession } from './session-reads.ts';

/** Number of keys to probe in a cluster, enough for each master in a typical cluster to have at least one key. */
const CLUSTER_PROBES = 16;
/** Maximum wait for INFO, in ms. Load balancers often wait one second for a health check. */
const INFO_TIMEOUT_MS = 500;

/** Returns the names of keys that never exist but can be read to test Redis. In a cluster, the keys are spread over the masters. */
export function probeKeys(redis: Redis | Cluster, prefix: string): string[] {
  const probes = redis instanceof Cluster ? CLUSTER_PROBES : 1;
  return Array.from({ length: probes }, (_, at) => `${prefix}readyz:${at}`);
}

/**
 * Tests whether Redis serves sessions, using the command with which each request reads its session. A Redis that refuses writes (READONLY,
 * MISCONF, NOREPLICAS) also refuses `GETEX`, even though it replies to PING. In a cluster, one working master is enough, because an outage
 * of another master must not remove every process from the load balancer.
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

/** Returns whether any master is full. A master that doesn't reply within 0.5 s is treated as not full. */
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
