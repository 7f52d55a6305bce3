import { expect, test } from '@jest/globals';
import { createMetrics } from '../../../src/metrics.ts';
import { cloakroomMetrics } from './known-metrics.ts';

/** What prom-client's types leave out. */
interface Described {
  readonly name: string;
  readonly type: string;
  readonly labelNames: readonly string[];
}

test('what rules, dashboard and runbooks may ask for is what a process counts', () => {
  const counted = createMetrics({ version: '1', revision: 'unknown' })
    .registry.getMetricsAsArray()
    .filter(({ name }) => name.startsWith('cloakroom_'))
    .map((metric) => {
      const { name, type, labelNames } = metric as unknown as Described;
      return { name, type, labels: labelNames.toSorted() };
    });
  const known = Object.entries(cloakroomMetrics).map(([name, { type, labels }]) => ({
    name,
    type,
    labels: Object.keys(labels).toSorted(),
  }));
  const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name);
  expect(counted.toSorted(byName)).toEqual(known.toSorted(byName));
});
