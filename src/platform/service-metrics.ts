import type { Registry } from 'prom-client';
import { createDurationHistogram } from './duration-histogram.ts';
import { STATUSES, kindOfStatus } from './status-kinds.ts';

/** Counts what the service took for one caller; `status` is undefined where it gave no answer. */
export type ServiceAnswered = (status: number | undefined, ms: number) => void;

/** Counts the service’s answers for each who calls it. */
export interface ServiceMetrics {
  readonly gateway: ServiceAnswered;
  readonly pages: ServiceAnswered;
}

export function createServiceMetrics(registry: Registry): ServiceMetrics {
  const answers = createDurationHistogram(registry, {
    name: 'cloakroom_service_duration_seconds',
    help: 'Until the head of the service’s answer, by who called and the kind of its status.',
    labelNames: ['caller', 'status'],
  });
  const count = (caller: 'gateway' | 'pages'): ServiceAnswered => {
    const series = STATUSES.map((status) => answers.series({ caller, status }));
    return (status, ms) => series[kindOfStatus(status)]?.observe(ms / 1_000);
  };
  return { gateway: count('gateway'), pages: count('pages') };
}
