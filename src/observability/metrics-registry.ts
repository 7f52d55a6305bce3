import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';
import type { Build } from '../config/build-info.ts';

/** What a process counts: its own state (memory, event loop, garbage collection), and what others register. */
export function createRegistry(build: Build): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const info = new Gauge({
    name: 'cloakroom_build_info',
    help: 'Always 1; which Cloakroom this is, and which Node runs it.',
    labelNames: ['version', 'revision', 'node'],
    registers: [registry],
  });
  info.set({ ...build, node: process.version }, 1);
  return registry;
}
