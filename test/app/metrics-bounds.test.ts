import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { expect, test } from '@jest/globals';
import { createMetrics } from '../../src/metrics.ts';
import { ROUTES } from '../../src/routes.ts';
import { cloakroomMetrics, registryWithAllSeries } from '../project/deploy/known-metrics.ts';
import { API_PATH } from '../support/constants.ts';
import { useFixture } from '../support/fixtures.ts';
import { startMetricsApp } from '../support/metrics-app.ts';
import { fc, scaled } from '../support/properties.ts';
import { startSignIn, startTestApp } from '../support/test-app.ts';

const metrics = useFixture(startMetricsApp);

/** The maximum number of series according to docs/monitoring.md. */
const MAX_SERIES = 600;

/** Returns the lines of all series, with their values. */
const seriesIn = (text: string) => text.split('\n').filter((line) => /^\w/.test(line));

/** Returns whether a label value is listed for its metric. Any unlisted value must have come from a client or the service. */
function isKnown(series: string, label: string, value: string): boolean {
  const metric = cloakroomMetrics[series] ?? cloakroomMetrics[series.replace(/_(?:bucket|sum|count)$/, '')];
  return metric?.labels[label]?.includes(value) === true;
}

/** Returns the label values of Cloakroom metrics that are not listed for their metric. */
async function unknownValues(): Promise<string[]> {
  const lines = seriesIn(await metrics.text()).filter((line) => line.startsWith('cloakroom_'));
  return lines.flatMap((line) => {
    const series = /^\w+/.exec(line)?.[0] ?? '';
    const labels = [...line.matchAll(/[{,](\w+)="((?:[^"\\]|\\.)*)"/g)];
    return labels.flatMap(([, name = '', value = '']) =>
      name === 'le' || isKnown(series, name, value) ? [] : [`${series}{${name}="${value}"}`],
    );
  });
}

async function send(method: string, path: string, headers: Record<string, string>): Promise<void> {
  const sent = request(metrics.testApp.origin + path, { method, headers }).end();
  const [response] = (await once(sent, 'response')) as [IncomingMessage];
  await once(response.resume(), 'close');
}

const path = fc
  .array(
    fc.oneof(
      fc.constantFrom('workspaces', 'api', 'public', 'v1', 'auth', 'login', 'assets', 'rooms.csv', '%2e%2e'),
      fc.stringMatching(/^[\w.~%-]{1,12}$/),
    ),
    { maxLength: 6 },
  )
  .map((segments) => `/${segments.join('/')}`);
const method = fc.constantFrom('GET', 'PUT', 'PROPFIND', 'M-SEARCH', 'PURGE', 'TRACE', 'HEAD', 'OPTIONS');

test('paths, methods, queries and headers from clients never become label values', async () => {
  const { cookie } = await metrics.testApp.createSession();
  const hostile = fc.record({ method, path, query: fc.stringMatching(/^[\w=&%]{0,20}$/), own: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(hostile, async (one) => {
      const traceparent = '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01';
      const headers = { traceparent, ...(one.own && { cookie, 'x-requested-with': 'test' }) };
      await send(one.method, `${one.path}?${one.query}`, headers);
    }),
    { numRuns: scaled(150) },
  );
  expect(await unknownValues()).toEqual([]);
});

test('the number of series is as documented once every series has appeared', async () => {
  const count = seriesIn(await registryWithAllSeries().metrics()).length;
  expect([count <= MAX_SERIES, count > 0.9 * MAX_SERIES]).toEqual([true, true]);
});

test('a series appears with its first request, but a route has a series for failures from the start', async () => {
  const { registry, requests } = createMetrics({ version: '1', revision: 'unknown' });
  const ofRequests = async () =>
    seriesIn(await registry.metrics()).filter((line) => line.startsWith('cloakroom_request'));
  const failures = ROUTES.map((route) => `cloakroom_requests_total{route="${route}",status="5xx"} 0`);
  expect(await ofRequests()).toEqual(failures);
  requests.observe('/workspaces', 200, 3);
  const added = (await ofRequests()).filter((line) => !failures.includes(line));
  expect(added.filter((line) => !/le="(?!0.005|\+Inf)/.test(line))).toEqual([
    'cloakroom_request_duration_seconds_bucket{le="0.005",route="/workspaces"} 1',
    'cloakroom_request_duration_seconds_bucket{le="+Inf",route="/workspaces"} 1',
    'cloakroom_request_duration_seconds_sum{route="/workspaces"} 0.003',
    'cloakroom_request_duration_seconds_count{route="/workspaces"} 1',
    'cloakroom_requests_total{route="/workspaces",status="2xx"} 1',
  ]);
});

test('values from the service, its token endpoint or a callback do not become label values', async () => {
  const { testApp } = metrics;
  const { cookie } = await testApp.createSession({ expiresAt: 0 });
  testApp.intercept = (req, res) => {
    if (!req.url?.endsWith('/token')) return Boolean(res.writeHead(599).end());
    return Boolean(res.end('{"error":"a_made_up_error","error_description":"secret"}'));
  };
  await send('GET', API_PATH, { cookie });
  await send('GET', API_PATH, { cookie: (await testApp.createSession()).cookie });
  const { browser, state } = await startSignIn(testApp);
  await browser.fetch(`${testApp.origin}/auth/callback?error=made_up&state=${state}`);
  expect(await unknownValues()).toEqual([]);
});

test('without METRICS_PORT, no metrics are collected', async () => {
  await using testApp = await startTestApp();
  expect(testApp.services.metrics).toBeNull();
});
