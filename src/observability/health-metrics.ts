import type { Registry } from 'prom-client';
import { createGauge } from './counter.ts';
import type { Watch } from './counter.ts';

/** Tells what the health checks tell, asked anew whenever the metrics are read: 1 for yes, 0 for no. */
export interface HealthMetrics {
  readonly watchReady: Watch;
  readonly watchDraining: Watch;
}

/** With several apps in a process it is ready where all of them are, and draining where one is. */
export function createHealthMetrics(registry: Registry): HealthMetrics {
  return {
    watchReady: createGauge(registry, {
      name: 'cloakroom_ready',
      help: '1 while /readyz would say so, 0 otherwise.',
      together: (values) => (values.length > 0 && values.every((value) => value === 1) ? 1 : 0),
    }),
    watchDraining: createGauge(registry, {
      name: 'cloakroom_draining',
      help: '1 from the signal on that ends this process.',
      together: (values) => (values.includes(1) ? 1 : 0),
    }),
  };
}
