import { expect, test } from '@jest/globals';
import { createMetrics } from '../../../src/metrics.ts';
import { cloakroomMetrics } from './known-metrics.ts';

test('rules, dashboard and runbooks may use exactly the metrics of a process', async () => {
  const { registry } = createMetrics({ version: '1', revision: 'unknown' });
  const ours = (await registry.getMetricsAsJSON()).filter(({ name }) => name.startsWith('cloakroom_'));
  const counted = ours.map(({ name, type, values }) => ({
    name,
    type: String(type),
    labels: Object.keys(values[0]?.labels ?? {})
      .filter((label) => label !== 'le')
      .toSorted(),
  }));
  const known = Object.entries(cloakroomMetrics).map(([name, { type, labels }]) => ({
    name,
    type,
    labels: Object.keys(labels).toSorted(),
  }));
  const byName = (one: { name: string }, other: { name: string }) => one.name.localeCompare(other.name);
  expect(counted.toSorted(byName)).toEqual(known.toSorted(byName));
});
