import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { ROOT } from '../../support/constants.ts';
import type { PrometheusDashboard } from './dashboard-model.ts';
import { cloakroomMetrics, registryWithAllSeries, unknownNames } from './known-metrics.ts';
import { expectPromQl } from './promtool.ts';
import { typeErrors } from './type-errors.ts';

const FILE = join(ROOT, 'deploy/grafana/cloakroom.json');
const dashboard = JSON.parse(readFileSync(FILE, 'utf8')) as PrometheusDashboard;
const panels = dashboard.panels.flatMap((panel) => (panel.type === 'row' ? [] : [panel]));
const expressions = [
  ...panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ...dashboard.annotations.list.map(({ expr }) => expr),
];

/** Returns an expression with a value in place of each Grafana variable. */
const filledIn = (expression: string) =>
  expression.replaceAll('$__rate_interval', '1m').replaceAll(/\$(?:namespace|job|instance)\b/g, '.*');

test('the dashboard uses only fields that Grafana supports', async () => {
  const from = '../../test/project/deploy/dashboard-model.ts';
  expect(await typeErrors([{ value: dashboard, type: 'PrometheusDashboard', from }])).toEqual([]);
});

describe('the dashboard expressions', () => {
  test('are valid PromQL', async () => {
    await expectPromQl(expressions.map(filledIn));
  });

  test('use only metrics that Cloakroom exports', () => {
    expect(expressions.flatMap((expression) => unknownNames(filledIn(expression)))).toEqual([]);
  });

  test('use every Cloakroom metric', () => {
    const all = expressions.join('\n');
    expect(Object.keys(cloakroomMetrics).filter((name) => !all.includes(name))).toEqual([]);
  });

  test('select only the chosen processes', () => {
    const chosen = 'namespace=~"$namespace",job=~"$job",instance=~"$instance"';
    const selectors = expressions
      .filter((expression) => !expression.startsWith('ALERTS{'))
      .flatMap((expression) => [...expression.matchAll(/\{([^}]*)\}/g)].map(([, matchers = '']) => matchers));
    expect(selectors.filter((matchers) => !matchers.startsWith(chosen))).toEqual([]);
  });
});

describe('the dashboard panels', () => {
  test('have a title, a description and a unit', () => {
    expect(panels.filter(({ title, description }) => !title || !description)).toEqual([]);
    const without = panels.filter(
      ({ type, fieldConfig }) => type !== 'heatmap' && !fieldConfig.defaults.unit,
    );
    expect(without.map(({ title }) => title)).toEqual([]);
  });

  test('do not overlap', () => {
    const taken = dashboard.panels.flatMap(({ gridPos }) => {
      const { x = 0, y = 0, w = 0, h = 0 } = gridPos ?? {};
      return Array.from({ length: w * h }, (_, cell) => `${x + (cell % w)},${y + Math.floor(cell / w)}`);
    });
    expect(new Set(taken).size).toBe(taken.length);
    expect(taken.every((cell) => Number(cell.split(',')[0]) < 24)).toBe(true);
    expect(new Set(dashboard.panels.map(({ id }) => id)).size).toBe(dashboard.panels.length);
  });
});

test('the list of metrics in these tests matches the metrics that Cloakroom exports', async () => {
  const ours = (await registryWithAllSeries().getMetricsAsJSON()).filter(({ name }) =>
    name.startsWith('cloakroom_'),
  );
  const exported = ours.map(({ name, type, values }) => {
    const labels = Object.keys(values[0]?.labels ?? {}).filter((label) => label !== 'le');
    return [name, { type: String(type), labels: labels.toSorted() }] as const;
  });
  const known = Object.entries(cloakroomMetrics).map(([name, { type, labels }]) => {
    return [name, { type, labels: Object.keys(labels).toSorted() }] as const;
  });
  expect(Object.fromEntries(exported)).toEqual(Object.fromEntries(known));
});
