import type { ServerResponse } from 'node:http';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { createDeferred } from '../../src/platform/deferred.ts';
import { startMetricsServer } from '../../src/platform/metrics-server.ts';
import type { MetricsServer } from '../../src/platform/metrics-server.ts';
import { startHouse } from '../support/house.ts';
import type { House } from '../support/house.ts';
import { eventually } from '../support/programs.ts';

let house: House;
let server: MetricsServer;
beforeAll(async () => {
  house = await startHouse({ METRICS_PORT: '65000' }); // that it is not 0 turns them on; it is served on a free one here
  if (house.services.metrics === null) throw new Error('no metrics');
  server = await startMetricsServer(house.services.metrics, '127.0.0.1', 0);
});
afterAll(async () => {
  await server[Symbol.asyncDispose]();
  await house[Symbol.asyncDispose]();
});

const PATH = '/api/public/v1/things';
const metrics = async () => (await fetch(server.url)).text();
const valueOf = (text: string, series: string) =>
  Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`${series} `))
      ?.split(' ')
      .at(-1),
  );

test('calls are counted by method and kind of status, with what they took', async () => {
  const { cookie } = await house.enter();
  house.intercept = (req, res) => Boolean(res.writeHead(req.method === 'PATCH' ? 500 : 200).end('{}'));
  for (const method of ['PUT', 'PUT', 'PATCH', 'PROPFIND']) {
    await (
      await fetch(house.origin + PATH, { method, headers: { cookie, 'x-requested-with': 'test' } })
    ).text();
  }
  const count = (method: string, status: string) =>
    `cloakroom_call_duration_seconds_count{method="${method}",status="${status}"}`;
  await eventually(async () => valueOf(await metrics(), count('other', '2xx')) === 1);
  const text = await metrics();
  expect(valueOf(text, count('PUT', '2xx'))).toBe(2);
  expect(valueOf(text, count('PATCH', '5xx'))).toBe(1);
  const longest = 'cloakroom_call_duration_seconds_bucket{le="+Inf",method="PUT",status="2xx"}';
  expect(valueOf(text, longest)).toBe(2);
  expect(valueOf(text, 'cloakroom_call_duration_seconds_sum{method="PUT",status="2xx"}')).toBeGreaterThan(0);
  expect(valueOf(text, 'cloakroom_service_duration_seconds_count{status="5xx"}')).toBe(1);
});

test('what the gateway answers itself is counted by its code', async () => {
  await (await fetch(house.origin + PATH)).text();
  expect(valueOf(await metrics(), 'cloakroom_refusals_total{code="sign_in_required"}')).toBe(1);
});

test('calls in flight are counted while they are', async () => {
  const { cookie } = await house.enter();
  const asked = createDeferred<ServerResponse>();
  house.intercept = (_req, res) => {
    asked.resolve(res);
    return true;
  };
  const call = fetch(house.origin + PATH, { headers: { cookie } });
  await eventually(async () => valueOf(await metrics(), 'cloakroom_calls_in_flight') === 1);
  (await asked.promise).end('{}');
  await (await call).text();
  await eventually(async () => valueOf(await metrics(), 'cloakroom_calls_in_flight') === 0);
  expect(await metrics()).toMatch(/^# TYPE cloakroom_calls_in_flight gauge$/m);
});

test('nothing else is served on their port', async () => {
  expect((await fetch(new URL('/', server.url))).status).toBe(404);
  expect((await fetch(server.url, { method: 'POST' })).status).toBe(405);
});

test('no metric names a session, a path or a query', async () => {
  const { cookie, id } = await house.enter();
  house.intercept = (_req, res) => Boolean(res.end('{}'));
  await (await fetch(`${house.origin}${PATH}/secret-path?secret=query`, { headers: { cookie } })).text();
  const text = await metrics();
  expect(text).not.toContain('secret');
  expect(text).not.toContain(id);
});
