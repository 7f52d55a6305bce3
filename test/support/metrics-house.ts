import { startMetricsServer } from '../../src/observability/metrics-server.ts';
import { startHouse } from './house.ts';
import type { House } from './house.ts';
import { eventually } from './eventually.ts';

/** A house whose metrics are served. */
export interface MetricsHouse extends AsyncDisposable {
  readonly house: House;
  readonly url: string;
  /** All of them, as Prometheus would read them now. */
  readonly text: () => Promise<string>;
  /** One number; NaN where there is no such series. */
  readonly valueOf: (series: string) => Promise<number>;
  /** Resolves once a number is this one: an answer is here a moment before it is counted. */
  readonly expectCount: (series: string, value: number) => Promise<void>;
}

export async function startMetricsHouse(env: Readonly<Record<string, string>> = {}): Promise<MetricsHouse> {
  const house = await startHouse({ METRICS_PORT: '65000', ...env }); // not 0 turns them on; here they get a free port
  if (house.services.meters === null) throw new Error('no metrics');
  const server = await startMetricsServer(house.services.meters.registry, '127.0.0.1', 0);
  const text = async () => (await fetch(server.url)).text();
  const valueOf = async (series: string) => {
    const lines = (await text()).split('\n');
    return Number(
      lines
        .find((line) => line.startsWith(`${series} `))
        ?.split(' ')
        .at(-1),
    );
  };
  return {
    house,
    url: server.url,
    text,
    valueOf,
    expectCount: async (series, value) => eventually(async () => (await valueOf(series)) === value),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await house[Symbol.asyncDispose]();
    },
  };
}
