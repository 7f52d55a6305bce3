import { collectDefaultMetrics, Registry } from 'prom-client';

/** What a process counts: its own state (memory, event loop, garbage collection), and what others register. */
export function createMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  return registry;
}
