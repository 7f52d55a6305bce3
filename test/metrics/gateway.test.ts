import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, expect, test } from '@jest/globals';
import { createDeferred } from '../../src/platform/deferred.ts';
import { startMetricsHouse } from '../support/metrics-house.ts';
import type { MetricsHouse } from '../support/metrics-house.ts';

let metrics: MetricsHouse;
beforeAll(async () => {
  metrics = await startMetricsHouse();
});
afterAll(async () => metrics[Symbol.asyncDispose]());
afterEach(() => {
  metrics.house.intercept = () => false;
});

const PATH = '/api/public/v1/things';
const call = async (cookie: string, init: RequestInit = {}) => {
  const headers = { cookie, 'x-requested-with': 'test' };
  await (await fetch(metrics.house.origin + PATH, { headers, ...init })).text();
};

test('calls are counted by method and kind of status, with what they took', async () => {
  const { house, expectCount, valueOf } = metrics;
  const { cookie } = await house.enter();
  house.intercept = (req, res) => Boolean(res.writeHead(req.method === 'PATCH' ? 500 : 200).end('{}'));
  for (const method of ['PUT', 'PUT', 'PATCH', 'PROPFIND']) await call(cookie, { method });
  const series = (part: string, labels: string) => `cloakroom_request_duration_seconds_${part}{${labels}}`;
  const put = 'route="/api/*",method="PUT",status="2xx"';
  await expectCount(series('count', 'route="/api/*",method="other",status="2xx"'), 1);
  expect(await valueOf(series('count', put))).toBe(2);
  expect(await valueOf(series('count', 'route="/api/*",method="PATCH",status="5xx"'))).toBe(1);
  expect(await valueOf(series('bucket', `le="+Inf",${put}`))).toBe(2);
  expect(await valueOf(series('sum', put))).toBeGreaterThan(0);
  const service = 'cloakroom_service_duration_seconds_count{caller="gateway",status="5xx"}';
  expect(await valueOf(service)).toBe(1);
});

test('a service that gives no answer is counted as one', async () => {
  const { house, expectCount } = metrics;
  const { cookie } = await house.enter();
  house.intercept = (req) => Boolean(req.socket.destroy());
  await call(cookie);
  await expectCount('cloakroom_service_duration_seconds_count{caller="gateway",status="none"}', 1);
});

test('what the gateway answers itself is counted by its code', async () => {
  const { expectCount } = metrics;
  await call('');
  await expectCount('cloakroom_refusals_total{code="sign_in_required"}', 1);
});

test('calls in flight are counted while they are', async () => {
  const { house, expectCount, text } = metrics;
  const { cookie } = await house.enter();
  const asked = createDeferred<ServerResponse>();
  house.intercept = (_req, res) => {
    asked.resolve(res);
    return true;
  };
  const answer = call(cookie);
  await expectCount('cloakroom_calls_in_flight', 1);
  (await asked.promise).end('{}');
  await answer;
  await expectCount('cloakroom_calls_in_flight', 0);
  expect(await text()).toMatch(/^# TYPE cloakroom_calls_in_flight gauge$/m);
});

test('nothing else is served on their port', async () => {
  expect((await fetch(new URL('/', metrics.url))).status).toBe(404);
  expect((await fetch(metrics.url, { method: 'POST' })).status).toBe(405);
});
