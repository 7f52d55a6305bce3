import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';

type Values = Readonly<Record<string, readonly string[]>>;

/** Counts one event. Its labels can have no other values than those that were named: their number is bounded. */
export type Count<V extends Values> = (labels: { readonly [L in keyof V]: V[L][number] }) => void;

/** A counter in `registry`, with each combination of its labels at 0 from the beginning, so that the first event is seen as one. */
export function createCounter<const V extends Values>(
  registry: Registry,
  { name, help, values }: { readonly name: string; readonly help: string; readonly values: V },
): Count<V> {
  const counter = new Counter({ name, help, labelNames: Object.keys(values), registers: [registry] });
  for (const labels of combinations(Object.entries(values))) counter.inc(labels, 0);
  return (labels) => counter.inc({ ...labels });
}

/** Adds to what a gauge tells, from now on. */
export type Watch = (read: () => Promise<number>) => void;

/**
 * A gauge in `registry` that asks for its value whenever it is read: all that watch it, as there may be several apps in a
 * process, and `together` makes one number of theirs.
 */
export function createGauge(
  registry: Registry,
  {
    name,
    help,
    together,
  }: {
    readonly name: string;
    readonly help: string;
    readonly together: (values: readonly number[]) => number;
  },
): Watch {
  const reads: Parameters<Watch>[0][] = [];
  const gauge: Gauge = new Gauge({
    name,
    help,
    registers: [registry],
    collect: async (): Promise<void> =>
      gauge.set(together(await Promise.all(reads.map(async (read) => read())))),
  });
  return (read) => void reads.push(read);
}

function combinations(
  labels: readonly (readonly [string, readonly string[]])[],
): Readonly<Record<string, string>>[] {
  let all: Readonly<Record<string, string>>[] = [{}];
  for (const [name, values] of labels)
    all = all.flatMap((some) => values.map((value) => Object.assign({}, some, { [name]: value })));
  return all;
}
