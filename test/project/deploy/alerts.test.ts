import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { parse } from 'yaml';
import { ROOT } from '../../support/constants.ts';
import { unknownNames } from './known-metrics.ts';
import { expectPromQl, promtool } from './promtool.ts';

const FOLDER = join(ROOT, 'deploy/prometheus');

interface Rule {
  readonly record?: string;
  readonly alert?: string;
  readonly expr: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** The slow unit tests, which cover periods of a day and a week, have their own file. */
const UNIT_TESTS = ['cloakroom-alerts.test.yaml', 'cloakroom-alerts.long.test.yaml'];

const read = (file: string) => readFileSync(join(FOLDER, file), 'utf8');
const { groups } = parse(read('cloakroom-alerts.yaml')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const alerts = rules.flatMap(({ alert, ...rule }) => (alert === undefined ? [] : [{ alert, ...rule }]));
const recorded = rules.flatMap(({ record }) => (record === undefined ? [] : [record]));

const guide = readFileSync(join(ROOT, 'docs/runbooks.md'), 'utf8');
const runbooks = new Map(
  guide
    .split(/^### /m)
    .slice(1)
    .map((entry) => [entry.split('\n', 1)[0] ?? '', entry.split(/^#/m, 1)[0] ?? '']),
);

describe('the alert rules', () => {
  test('are accepted by promtool', async () => {
    expect(await promtool('check', 'rules', join(FOLDER, 'cloakroom-alerts.yaml'))).toContain('SUCCESS');
  });

  test.each(UNIT_TESTS)(
    'fire as the unit tests expect: %s',
    async (file) => {
      expect(await promtool('test', 'rules', join(FOLDER, file))).toContain('SUCCESS');
    },
    600_000,
  );

  test('all fire in a unit test', () => {
    const fired = [
      ...UNIT_TESTS.map(read)
        .join('')
        .matchAll(/\{alertname="(\w+)"\}/g),
    ].map(([, name]) => name);
    expect(new Set(fired)).toEqual(new Set(alerts.map(({ alert }) => alert)));
  });

  test.each(rules)('use only metrics that Cloakroom exports (rule $alert$record)', ({ expr }) => {
    expect(unknownNames(expr, recorded)).toEqual([]);
  });
});

describe.each(alerts)('$alert', ({ alert, labels, annotations }) => {
  const runbook = runbooks.get(alert) ?? '';

  test('has a severity, a summary and a link to its runbook', () => {
    expect(['page', 'ticket']).toContain(labels?.['severity']);
    expect(annotations?.['summary']).toMatch(/\S+ \S+/);
    expect(annotations?.['runbook_url']).toBe(`docs/runbooks.md#${alert.toLowerCase()}`);
  });

  test('has a runbook with all steps in order', () => {
    const steps = [...runbook.matchAll(/^- \*\*(.+?):\*\* ./gm)].map(([, step]) => step);
    expect(steps).toEqual(['Users see', 'Means', 'Check', 'Do', "Don't"]);
  });
});

describe('the runbooks', () => {
  test('cover every alert and nothing else', () => {
    expect([...runbooks.keys()].toSorted()).toEqual(alerts.map(({ alert }) => alert).toSorted());
  });

  test('contain valid PromQL on metrics that Cloakroom exports', async () => {
    const queries = [...guide.matchAll(/`([^`\n]+)`/g)]
      .map(([, code = '']) => code)
      .filter((code) => /\b(?:cloakroom_|process_|nodejs_|up\{)/.test(code));
    expect(queries.length).toBeGreaterThan(10);
    expect(queries.flatMap((query) => unknownNames(query))).toEqual([]);
    await expectPromQl(queries);
  });
});

test.each([
  ['cloakroom_calls_total', 'cloakroom_calls_total'],
  ['rate(cloakroom_request_duration_seconds[5m])', 'cloakroom_request_duration_seconds'],
  ['cloakroom_ready{code="a"}', 'cloakroom_ready{code}'],
  ['cloakroom_redis_errors_total{kind=~"away|no"}', 'cloakroom_redis_errors_total{kind=~"away|no"}'],
  ['sum by (status) (cloakroom_ready)', 'by (status)'],
  ['namespace_job:nothing:rate5m > 1', 'namespace_job:nothing:rate5m'],
])('the metric check finds the unknown part of %s', (expression, unknown) => {
  expect(unknownNames(expression)).toEqual([unknown]);
});
