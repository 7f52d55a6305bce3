import { bindPort } from '../../src/http/listening.ts';
import { startMetricsServer } from '../../src/observability/metrics-server.ts';
import { startTestApp, type TestApp } from './test-app.ts';
import { eventually } from './eventually.ts';

export type MetricsApp = Awaited<ReturnType<typeof startMetricsApp>>;

/** Starts a test app that serves its metrics. */
export async function startMetricsApp(env: Readonly<Record<string, string>> = {}) {
  const testApp = await startTestApp({ METRICS_PORT: '65000', ...env }); // enables metrics; the server below uses a free port
  if (testApp.services.metrics === null) throw new Error('no metrics');
  const server = await startMetricsServer(testApp.services.metrics.registry, await bindPort('127.0.0.1', 0));
  const text = async () => (await fetch(server.url)).text();
  const valueOf = async (series: string) => {
    const line = (await text()).split('\n').find((each) => each.startsWith(`${series} `));
    return Number(line?.split(' ').at(-1) ?? 0);
  };
  return {
    testApp,
    url: server.url,
    /** Resolves with all metrics in the Prometheus text format. */
    text,
    /** Resolves with the value of a series, or with 0 if the series has not appeared. */
    valueOf,
    /** Waits until a series has this value, because a response is counted shortly after it arrives. */
    expectCount: async (series: string, value: number) =>
      eventually(async () => (await valueOf(series)) === value),
    async [Symbol.asyncDispose]() {
      await server[Symbol.asyncDispose]();
      await testApp[Symbol.asyncDispose]();
    },
  };
}

/** Resolves with the number of API requests in flight, as the gauge reports it. The app must have metrics enabled. */
export async function requestsInFlight({ services }: TestApp): Promise<number | undefined> {
  const gauge = services.metrics?.registry.getSingleMetric('cloakroom_api_requests_in_flight');
  return (await gauge?.get())?.values[0]?.value;
}
