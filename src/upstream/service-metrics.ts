import type { Registry } from 'prom-client';
import { createDurationHistogram, STATUS_CLASSES, statusClassIndex } from '../observability/prometheus.ts';

/**
 * Records how long the service took to respond to one caller. `status` is undefined if the service did not respond, and `aborted` if the
 * client disconnected or did not send its complete request.
 */
export type RecordServiceResponse = (status: number | 'aborted' | undefined, ms: number) => void;

/** Values of the `status` label. */
export const SERVICE_STATUSES = [...STATUS_CLASSES, 'aborted'];

/** Creates the histogram of the service's response times. Returns a recording function for each caller. */
export function createServiceMetrics<C extends string>(
  registry: Registry,
  callers: readonly C[],
): Readonly<Record<C, RecordServiceResponse>> {
  const responses = createDurationHistogram(registry, {
    name: 'cloakroom_upstream_request_duration_seconds',
    help: 'Time from sending a request to the service to receiving the response head, by caller and status class.',
  });
  const record = (caller: C): RecordServiceResponse => {
    const aborted = responses.series({ caller, status: 'aborted' });
    const series = STATUS_CLASSES.map((status) => responses.series({ caller, status }));
    return (status, ms) =>
      (status === 'aborted' ? aborted : series[statusClassIndex(status)])?.observe(ms / 1_000);
  };
  return Object.fromEntries(callers.map((caller) => [caller, record(caller)])) as Record<
    C,
    RecordServiceResponse
  >;
}
