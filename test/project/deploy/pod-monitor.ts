import type { LabelSelector, ObjectMeta } from 'kubernetes-types/meta/v1.js';

/** The part that we use of the PodMonitor, as version 0.91 of the Prometheus operator defines it; no package has it alone. */
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
