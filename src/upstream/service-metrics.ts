import type { Registry } from 'prom-client';
import { createDurationHistogram } from '../observability/histogram.ts';
import { STATUSES, kindOfStatus } from '../observability/status-kinds.ts';

/**
 * Counts what the service took for one caller. `status` is undefined where it gave no answer, and `left` where its answer was
 * not waited for, which is no fault of the service’s: whoever wanted it left, or did not send all that it is an answer to.
 */
export type RecordServiceResponse = (status: number | 'left' | undefined, ms: number) => void;

/** What the label `status` may be. */
export const SERVICE_STATUSES = [...STATUSES, 'left'];

/** Counts the service’s answers for each who calls it. */
export function createServiceMetrics<C extends string>(
  registry: Registry,
  callers: readonly C[],
): Readonly<Record<C, RecordServiceResponse>> {
  const answers = createDurationHistogram(registry, {
    name: 'cloakroom_service_duration_seconds',
    help: 'Until the head of the service’s answer, by who called and the kind of its status.',
    labelNames: ['caller', 'status'],
  });
  const count = (caller: C): RecordServiceResponse => {
    const left = answers.series({ caller, status: 'left' });
    const series = STATUSES.map((status) => answers.series({ caller, status }));
    return (status, ms) => (status === 'left' ? left : series[kindOfStatus(status)])?.observe(ms / 1_000);
  };
  return Object.fromEntries(callers.map((caller) => [caller, count(caller)])) as Record<
    C,
    RecordServiceResponse
  >;
}
