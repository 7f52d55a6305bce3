import type { LabelSelector, ObjectMeta } from 'kubernetes-types/meta/v1.js';

/** The PodMonitor fields that the tests use, from Prometheus Operator 0.91. No small package provides these types. */
export interface PodMonitor {
  readonly apiVersion: 'monitoring.coreos.com/v1';
  readonly kind: 'PodMonitor';
  readonly metadata: ObjectMeta;
  readonly spec: {
    readonly jobLabel?: string;
    readonly selector: LabelSelector;
    readonly podMetricsEndpoints?: readonly {
      readonly port?: string;
      readonly interval?: `${number}${'s' | 'm'}`;
    }[];
  };
}
