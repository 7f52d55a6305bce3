/** A metric, as the registry of a process has it. */
interface Metric {
  readonly type: 'counter' | 'gauge' | 'histogram';
  /** The values that a label can have; null where they are not a short list. */
  readonly labels: Readonly<Record<string, readonly string[] | null>>;
}

const STATUS = ['1xx', '2xx', '3xx', '4xx', '5xx', 'none'];
const ROUTES = [
  '/',
  '/api/*',
  '/assets/*',
  '/auth/callback',
  '/auth/login',
  '/auth/logout',
  '/auth/session',
  '/healthz',
  '/readyz',
  'none',
];

/** What Cloakroom counts, and what is asked of it from outside of the code: by rules, a dashboard and runbooks. */
export const cloakroomMetrics: Readonly<Record<string, Metric>> = {
  cloakroom_request_duration_seconds: {
    type: 'histogram',
    labels: { route: ROUTES, method: null, status: STATUS },
  },
  cloakroom_service_duration_seconds: {
    type: 'histogram',
    labels: { caller: ['gateway', 'pages'], status: STATUS },
  },
  cloakroom_token_endpoint_duration_seconds: {
    type: 'histogram',
    labels: {
      grant: ['authorization_code', 'refresh_token'],
      outcome: ['granted', 'invalid_grant', 'refused', 'unavailable'],
    },
  },
  cloakroom_refusals_total: { type: 'counter', labels: { code: null } },
  cloakroom_calls_in_flight: { type: 'gauge', labels: {} },
  cloakroom_renewals_total: {
    type: 'counter',
    labels: { trigger: ['spent', 'ahead', 'refused'], outcome: ['led', 'joined', 'failed'] },
  },
  cloakroom_renewal_failures_total: {
    type: 'counter',
    labels: { cause: ['invalid_grant', 'refused', 'token_endpoint', 'redis', 'lock'] },
  },
  cloakroom_renewal_lock_wait_seconds: { type: 'histogram', labels: {} },
  cloakroom_sign_ins_total: {
    type: 'counter',
    labels: {
      outcome: [
        'started',
        'signed_in',
        'denied',
        'refused',
        'unknown_state',
        'token_endpoint',
        'redis',
        'too_many',
      ],
    },
  },
  cloakroom_sessions_started_total: { type: 'counter', labels: {} },
  cloakroom_sessions_ended_total: {
    type: 'counter',
    labels: { cause: ['signed_out', 'signed_in_again', 'invalid_grant', 'no_refresh_token', 'age'] },
  },
  cloakroom_redis_command_duration_seconds: { type: 'histogram', labels: { command: ['read', 'other'] } },
  cloakroom_redis_errors_total: { type: 'counter', labels: { kind: ['away', 'timeout', 'full', 'other'] } },
  cloakroom_ready: { type: 'gauge', labels: {} },
  cloakroom_draining: { type: 'gauge', labels: {} },
  cloakroom_secrets_reloads_total: { type: 'counter', labels: { outcome: ['done', 'failed'] } },
  cloakroom_build_info: { type: 'gauge', labels: { version: null, node: null } },
};

/** prom-client's own, and those that Prometheus makes. */
const others: Readonly<Record<string, Metric>> = {
  nodejs_eventloop_lag_p99_seconds: { type: 'gauge', labels: {} },
  nodejs_gc_duration_seconds: { type: 'histogram', labels: { kind: null } },
  nodejs_heap_size_used_bytes: { type: 'gauge', labels: {} },
  process_cpu_seconds_total: { type: 'counter', labels: {} },
  process_max_fds: { type: 'gauge', labels: {} },
  process_open_fds: { type: 'gauge', labels: {} },
  process_resident_memory_bytes: { type: 'gauge', labels: {} },
  process_start_time_seconds: { type: 'gauge', labels: {} },
  up: { type: 'gauge', labels: {} },
  ALERTS: { type: 'gauge', labels: { alertname: null, alertstate: ['firing'] } },
};

/** The labels that a series is given where it is scraped. */
const SCRAPED = ['namespace', 'job', 'instance'];

/** Names of series: a histogram has three, and no other of its own. */
const series = new Map<string, Metric['labels']>();
for (const [name, { type, labels }] of Object.entries({ ...cloakroomMetrics, ...others })) {
  if (type !== 'histogram') series.set(name, labels);
  else {
    for (const suffix of ['_count', '_sum']) series.set(`${name}${suffix}`, labels);
    series.set(`${name}_bucket`, { ...labels, le: null });
  }
}

/**
 * What an expression of PromQL asks for that no process has: a metric, a label, a value. `recorded` are names that
 * rules make.
 */
export function unknownIn(expression: string, recorded: readonly string[] = []): string[] {
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
      // A pattern is a list of words, or means several of something that has no list.
      const words = operator.endsWith('~') ? value.split('|') : [value];
      const isKnown = (word: string) => values?.includes(word) !== false || /[.][*+]/.test(word);
      return words.every(isKnown) ? [] : [`${name}{${matcher}}`];
    },
  );
}
