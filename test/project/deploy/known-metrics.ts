import {
  GRANT_TYPES,
  REFRESH_FAILURES,
  REFRESH_OUTCOMES,
  REFRESH_TRIGGERS,
  SIGN_IN_OUTCOMES,
  TOKEN_ENDPOINT_OUTCOMES,
} from '../../../src/oauth/metrics.ts';
import { PROBLEM_CODES } from '../../../src/gateway/gateway-metrics.ts';
import { CALLERS, createMetrics } from '../../../src/metrics.ts';
import { REDIS_COMMANDS, REDIS_ERRORS } from '../../../src/redis/redis-metrics.ts';
import { SERVICE_STATUSES } from '../../../src/upstream/service-metrics.ts';
import { STATUS_CLASSES } from '../../../src/observability/prometheus.ts';
import { ROUTES } from '../../../src/routes.ts';
import { RELOAD_OUTCOMES } from '../../../src/config/secrets-reload.ts';
import { SESSION_END_REASONS } from '../../../src/session/events.ts';
import { packageVersion } from '../../support/package-version.ts';

interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** The values of each label; null if a label can have any value. */
  readonly labels: Readonly<Record<string, readonly string[] | null>>;
}

const counter = (labels: Metric['labels'] = {}): Metric => ({ type: 'counter', labels });
const gauge = (labels: Metric['labels'] = {}): Metric => ({ type: 'gauge', labels });
const histogram = (labels: Metric['labels'] = {}): Metric => ({ type: 'histogram', labels });

/** All Cloakroom metrics, with the possible values of their labels. */
export const cloakroomMetrics: Readonly<Record<string, Metric>> = {
  cloakroom_request_duration_seconds: histogram({ route: ROUTES }),
  cloakroom_requests_total: counter({ route: ROUTES, status: STATUS_CLASSES }),
  cloakroom_upstream_request_duration_seconds: histogram({ caller: CALLERS }),
  cloakroom_upstream_requests_total: counter({ caller: CALLERS, status: SERVICE_STATUSES }),
  cloakroom_token_request_duration_seconds: histogram({ grant: GRANT_TYPES }),
  cloakroom_token_requests_total: counter({ grant: GRANT_TYPES, outcome: TOKEN_ENDPOINT_OUTCOMES }),
  cloakroom_api_problems_total: counter({ code: PROBLEM_CODES }),
  cloakroom_api_requests_in_flight: gauge(),
  cloakroom_token_refreshes_total: counter({ trigger: REFRESH_TRIGGERS, outcome: REFRESH_OUTCOMES }),
  cloakroom_token_refresh_failures_total: counter({ cause: REFRESH_FAILURES }),
  cloakroom_token_refresh_wait_seconds: histogram(),
  cloakroom_sign_ins_total: counter({ outcome: SIGN_IN_OUTCOMES }),
  cloakroom_sessions_started_total: counter(),
  cloakroom_sessions_ended_total: counter({ cause: SESSION_END_REASONS }),
  cloakroom_redis_command_duration_seconds: histogram({ command: REDIS_COMMANDS }),
  cloakroom_redis_errors_total: counter({ kind: REDIS_ERRORS }),
  cloakroom_ready: gauge(),
  cloakroom_draining: gauge(),
  cloakroom_secrets_reloads_total: counter({ outcome: RELOAD_OUTCOMES }),
  cloakroom_build_info: gauge({ version: [packageVersion], revision: ['unknown'], node: [process.version] }),
};

/** Returns a registry in which every series has appeared. */
export function registryWithAllSeries() {
  const { registry, requests, service, oauth, redis } = createMetrics({ version: '1', revision: 'unknown' });
  const statuses = [undefined, 200, 300, 400, 500];
  for (const route of ROUTES) for (const status of statuses) requests.observe(route, status, 1);
  for (const caller of CALLERS)
    for (const status of [...statuses, 'aborted'] as const) service[caller](status, 1);
  for (const grant of GRANT_TYPES) oauth.tokenRequest(grant, 'granted', 1);
  for (const command of REDIS_COMMANDS) redis.settled(command, performance.now());
  oauth.refreshWaited(1);
  return registry;
}

/** Metrics from prom-client and Prometheus. */
const others: Readonly<Record<string, Metric>> = {
  nodejs_eventloop_lag_p99_seconds: gauge(),
  nodejs_gc_duration_seconds: histogram({ kind: null }),
  nodejs_heap_size_used_bytes: gauge(),
  process_cpu_seconds_total: counter(),
  process_max_fds: gauge(),
  process_open_fds: gauge(),
  process_resident_memory_bytes: gauge(),
  process_start_time_seconds: gauge(),
  up: gauge(),
  ALERTS: gauge({ alertname: null, alertstate: ['firing'] }),
};

/** Labels that Prometheus adds. */
const SCRAPED = ['namespace', 'job', 'instance'];

/** The labels of each series. A histogram has three series. */
const series = new Map<string, Metric['labels']>();
for (const [name, { type, labels }] of Object.entries({ ...cloakroomMetrics, ...others })) {
  if (type !== 'histogram') series.set(name, labels);
  else {
    for (const suffix of ['_count', '_sum']) series.set(`${name}${suffix}`, labels);
    series.set(`${name}_bucket`, { ...labels, le: null });
  }
}

/**
 * Returns the metrics, labels and label values that a PromQL expression uses but no process exports. `recorded` holds the names
 * of recording rules.
 */
export function unknownNames(expression: string, recorded: readonly string[] = []): string[] {
  const unknown: string[] = [];
  const labelsOfAll = new Set(SCRAPED);
  const plain = expression.replaceAll(/(["'])(?:(?!\1).)*\1/g, (text) => text.replaceAll(/\w/g, '~'));
  for (const { 0: found, 1: name = '', index } of plain.matchAll(/\b([a-zA-Z_][\w:]*)\b(\{[^}]*\})?/g)) {
    if (!/^(?:cloakroom_|nodejs_|process_|up$|ALERTS$)|:/.test(name) || recorded.includes(name)) continue;
    const labels = series.get(name);
    if (labels === undefined) {
      unknown.push(name);
      continue;
    }
    for (const label of Object.keys(labels)) labelsOfAll.add(label);
    const matchers = expression.slice(index + name.length, index + found.length);
    unknown.push(...unknownMatchers(name, labels, matchers));
  }
  for (const [, list = ''] of plain.matchAll(/\b(?:by|without|on)\s*\(([^)]*)\)/g)) {
    const names = list.split(',').map((label) => label.trim());
    unknown.push(...names.filter((label) => !labelsOfAll.has(label)).map((label) => `by (${label})`));
  }
  return unknown;
}

function unknownMatchers(name: string, labels: Metric['labels'], matchers: string): string[] {
  return [...matchers.matchAll(/(\w+)\s*(=~|!~|!=|=)\s*"([^"]*)"/g)].flatMap(
    ([matcher, label = '', operator = '', value = '']) => {
      if (SCRAPED.includes(label)) return [];
      const values = labels[label];
      if (values === undefined) return [`${name}{${label}}`];
      // Each alternative in a regular expression is either a word or a pattern with a wildcard.
      const words = operator.endsWith('~') ? value.split('|') : [value];
      const isKnown = (word: string) => values?.includes(word) !== false || /[.][*+]/.test(word);
      return words.every(isKnown) ? [] : [`${name}{${matcher}}`];
    },
  );
}
