import { collectDefaultMetrics, Counter, Gauge, Registry, type Histogram } from 'prom-client';
import type { Build } from '../config/build-info.ts';

/** Default metrics that list every connection at each scrape, or that the dashboard, alerts and runbooks don't use. */
const UNUSED = /^nodejs_(?:active|heap_space)_/;

/** Creates the registry for a process, including prom-client's default metrics (memory, event loop, garbage collection). */
export function createRegistry(build: Build): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, gcDurationBuckets: [0.01, 0.1] });
  for (const { name } of registry.getMetricsAsArray())
    if (UNUSED.test(name)) registry.removeSingleMetric(name);
  const info = new Gauge({
    name: 'cloakroom_build_info',
    help: 'Always 1. The labels give the version and revision of Cloakroom and the version of Node.',
    labelNames: ['version', 'revision', 'node'],
    registers: [registry],
  });
  info.set({ ...build, node: process.version }, 1);
  return registry;
}

type LabelValues = Readonly<Record<string, readonly string[]>>;

/** Counts one event. The label types limit the number of series. */
type Count<V extends LabelValues> = (labels: { readonly [L in keyof V]: V[L][number] }) => void;

/**
 * Registers a counter of rare events. All its series start at 0, because `rate()` and `increase()` would miss the first event, often the
 * only one, in a series that starts at 1. Use createOutcomeMetrics() for events that occur with every request.
 */
export function createCounter<const V extends LabelValues>(
  registry: Registry,
  { name, help, values }: { readonly name: string; readonly help: string; readonly values: V },
): Count<V> {
  const counter = new Counter({ name, help, labelNames: Object.keys(values), registers: [registry] });
  for (const labels of combinations(values)) counter.inc(labels, 0);
  return (labels) => counter.inc({ ...labels });
}

function combinations(values: LabelValues): Readonly<Record<string, string>>[] {
  let all: Readonly<Record<string, string>>[] = [{}];
  for (const [name, ofLabel] of Object.entries(values))
    all = all.flatMap((labels) => ofLabel.map((value) => Object.assign({}, labels, { [name]: value })));
  return all;
}

/** Adds a source to a gauge. */
export type AddGaugeSource = (read: () => Promise<number>) => void;

/** Registers a gauge that reads its sources at each scrape. `combine` merges the values, because a process may run several apps. */
export function createGauge(
  registry: Registry,
  options: {
    readonly name: string;
    readonly help: string;
    readonly combine: (values: readonly number[]) => number;
  },
): AddGaugeSource {
  const { combine, ...named } = options;
  const sources: Parameters<AddGaugeSource>[0][] = [];
  const gauge: Gauge = new Gauge({
    ...named,
    registers: [registry],
    async collect(): Promise<void> {
      gauge.set(combine(await Promise.all(sources.map(async (read) => read()))));
    },
  });
  return (read) => void sources.push(read);
}

/**
 * Upper bounds in seconds. The short times are those of Cloakroom itself, and the long times those of the service. CloakroomSlow needs
 * the bound of 0.5 s.
 */
const BUCKETS = [0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Registers a histogram. A series appears with its first observation. */
export function createDurationHistogram(
  registry: Registry,
  options: { readonly name: string; readonly help: string; readonly buckets?: readonly number[] },
) {
  const { name, help, buckets = BUCKETS } = options;
  const boundsMs = buckets.map((seconds) => seconds * 1_000);
  const all: Series[] = [];
  registerSamples(registry, { name, help, type: 'histogram' }, () =>
    all.flatMap((series) => toSamples(name, buckets, series)),
  );
  return {
    /** Adds a series with these labels. Call this once per set of labels and keep the result. */
    series(labels: Labels) {
      const series: Series = { labels, counts: new Float64Array(buckets.length + 1), sumMs: 0 };
      all.push(series);
      const { counts } = series;
      return {
        observe(ms: number): void {
          let at = 0;
          while (at < boundsMs.length && ms > (boundsMs[at] ?? Infinity)) at += 1;
          counts[at] = (counts[at] ?? 0) + 1;
          series.sumMs += ms;
        },
      };
    },
  };
}

interface Series {
  readonly labels: Labels;
  /** One count per bucket, and one for durations above all buckets. */
  readonly counts: Float64Array;
  sumMs: number;
}

/** Returns a series in Prometheus format, in which each bucket includes all smaller buckets. */
function toSamples(name: string, buckets: readonly number[], { labels, counts, sumMs }: Series): Sample[] {
  let count = 0;
  const ofBuckets = [...buckets, '+Inf'].map((le, at) => {
    count += counts[at] ?? 0;
    return { metricName: `${name}_bucket`, labels: { le, ...labels }, value: count };
  });
  if (count === 0) return [];
  return [
    ...ofBuckets,
    { metricName: `${name}_sum`, labels, value: sumMs / 1_000 },
    { metricName: `${name}_count`, labels, value: count },
  ];
}

/** Records the duration of a request, and its outcome as an index into `outcomes`. */
type RecordOutcome = (outcome: number, ms: number) => void;

/**
 * Registers a histogram of durations by one label, such as the route, and a counter by this label and the outcome. A histogram by both
 * labels would have five times as many series. Returns a recording function per value of the label. No request adds a value.
 *
 * A series appears with its first request. The counters for `watched` outcomes are 0 from the start, because an alert watches their
 * `rate()`, which misses all events before a series first appears. An outage may fail many requests between two scrapes.
 */
export function createOutcomeMetrics<V extends string>(
  registry: Registry,
  options: {
    readonly durations: { readonly name: string; readonly help: string };
    readonly total: { readonly name: string; readonly help: string };
    readonly by: readonly [label: string, values: readonly V[]];
    readonly outcomes: readonly [label: string, values: readonly string[]];
    readonly watched: readonly string[];
  },
): ReadonlyMap<V, RecordOutcome> {
  const [label, values] = options.by;
  const [outcomeLabel, outcomes] = options.outcomes;
  const durations = createDurationHistogram(registry, options.durations);
  const all: { readonly labels: Labels; readonly isWatched: boolean; value: number }[] = [];
  registerSamples(registry, { ...options.total, type: 'counter' }, () =>
    all.filter(({ value, isWatched }) => value > 0 || isWatched),
  );
  const recorder = (value: V): RecordOutcome => {
    const duration = durations.series({ [label]: value });
    const counts = outcomes.map((outcome) => ({
      labels: { [label]: value, [outcomeLabel]: outcome },
      isWatched: options.watched.includes(outcome),
      value: 0,
    }));
    all.push(...counts);
    return (outcome, ms) => {
      duration.observe(ms);
      const count = counts[outcome];
      if (count !== undefined) count.value += 1;
    };
  };
  return new Map(values.map((value) => [value, recorder(value)]));
}

type Labels = Readonly<Record<string, string>>;

interface Sample {
  readonly metricName?: string;
  readonly labels: Readonly<Record<string, string | number>>;
  readonly value: number;
}

/**
 * Registers a metric that keeps its own counts. prom-client's metrics hash the labels of each event, which takes a tenth of the CPU time
 * of a proxied request.
 */
function registerSamples(
  registry: Registry,
  options: { readonly name: string; readonly help: string; readonly type: 'counter' | 'histogram' },
  samples: () => readonly Sample[],
): void {
  const metric = {
    name: options.name,
    get: async () => ({ ...options, aggregator: 'sum', values: samples() }),
  };
  // The registry in prom-client 15 reads only these two members of a metric.
  registry.registerMetric(metric as unknown as Histogram);
}

/** Values of the `status` label: the class of a response (RFC 9110 §15), or `none` if there was no response. */
export const STATUS_CLASSES = ['none', '2xx', '3xx', '4xx', '5xx'];

/** Returns the index of a status in STATUS_CLASSES. A status above 599 is counted as `5xx`. */
export function statusClassIndex(status: number | undefined): number {
  return status === undefined ? 0 : Math.min(Math.max(Math.floor(status / 100), 1), 5) - 1;
}
