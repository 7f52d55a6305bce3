import { Cluster } from 'ioredis';
import type { Redis } from 'ioredis';

/** So many names fall on all masters of a usual cluster. */
const CLUSTER_PROBES = 16;

/** Keys that never exist, to see by reading them whether Redis serves us; in a cluster some at each master. `prefix` starts every key. */
export function probeKeys(redis: Redis | Cluster, prefix: string): string[] {
  const probes = redis instanceof Cluster ? CLUSTER_PROBES : 1;
  return Array.from({ length: probes }, (_, at) => `${prefix}readyz:${at}`);
}
