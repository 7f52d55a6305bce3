import { readFileSync } from 'node:fs';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/** What a process counts: its own state (memory, event loop, garbage collection), and what others register. */
export function createMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  const build = new Gauge({
    name: 'cloakroom_build_info',
    help: 'Always 1; which Cloakroom this is, and which Node runs it.',
    labelNames: ['version', 'node'],
    registers: [registry],
  });
  build.set({ version: readVersion(), node: process.version }, 1);
  return registry;
}

function readVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
