import type { Registry } from 'prom-client';
import { createCounter } from '../observability/counter.ts';

export const RELOAD_OUTCOMES = ['done', 'failed'] as const;

/** Counts that the files of secrets were read again. */
export type CountReload = (outcome: (typeof RELOAD_OUTCOMES)[number]) => void;

export function createReloadMetrics(registry: Registry): CountReload {
  const count = createCounter(registry, {
    name: 'cloakroom_secrets_reloads_total',
    help: 'Times that the files of secrets were read again, by outcome: done, or failed and nothing changed.',
    values: { outcome: RELOAD_OUTCOMES },
  });
  return (outcome) => count({ outcome });
}
