import type { Registry } from 'prom-client';
import { createOutcomeMetrics, STATUS_CLASSES, statusClassIndex } from '../observability/prometheus.ts';

/**
 * Records how long the service took to respond to one caller. `status` is undefined if the service did not respond, and `aborted` if the
 * client disconnected or did not send its complete request.
 */
export type RecordServiceResponse = (status: number | 'aborted' | undefined, ms: number) => void;

/** Values of the `status` label. */
export const SERVICE_STATUSES = [...STATUS_CLASSES, 'aborted'];
const ABORTED = SERVICE_STATUSES.indexOf('aborted');

/** Registers the metrics of upstream requests. Returns a recording function for each caller. */
export function createServiceMetrics<C extends string>(
  registry: Registry,
  callers: readonly C[],
): Readonly<Record<C, RecordServiceResponse>> {
  const byCaller = createOutcomeMetrics(registry, {
    durations: {
      name: 'cloakroom_upstream_request_duration_seconds',
      help: 'Time from sending a request to the service to receiving the response head, or to the failure, by caller.',
    },
    total: {
      name: 'cloakroom_upstream_requests_total',
      help: 'Requests to the service by caller and status class.',
    },
    by: ['caller', callers],
    outcomes: ['status', SERVICE_STATUSES],
    watched: ['5xx', 'none'],
  });
  const record = (caller: C): RecordServiceResponse => {
    const recordOutcome = byCaller.get(caller);
    return (status, ms) => recordOutcome?.(status === 'aborted' ? ABORTED : statusClassIndex(status), ms);
  };
  return Object.fromEntries(callers.map((caller) => [caller, record(caller)])) as Record<
    C,
    RecordServiceResponse
  >;
}
