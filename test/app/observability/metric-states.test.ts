import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { createApp } from '../../../src/app.ts';
import { API_PATH } from '../../support/constants.ts';
import { startMetricsApp, type MetricsApp } from '../../support/metrics-app.ts';
import { eventually } from '../../support/eventually.ts';

const expectGrown = async (metrics: MetricsApp, series: string) =>
  eventually(async () => (await metrics.valueOf(series)) > 0);
const get = async ({ testApp }: MetricsApp, path: string, cookie = '') =>
  (await fetch(testApp.origin + path, { headers: { cookie }, redirect: 'manual' })).status;

test('a second app counts in the same metrics, and the process is not ready once one app drains', async () => {
  await using metrics = await startMetricsApp();
  const { testApp, expectCount } = metrics;
  const server = createServer(createApp(testApp.services)).listen(0, '127.0.0.1');
  try {
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { cookie } = await testApp.createSession();
    testApp.intercept = (_req, res) => Boolean(res.end('{}'));
    for (const origin of [`http://127.0.0.1:${port}`, testApp.origin]) {
      const response = await fetch(origin + API_PATH, { headers: { cookie } });
      expect([response.status, await response.text()]).toEqual([200, '{}']);
    }
    await expectCount(
      'cloakroom_request_duration_seconds_count{route="/api/*",method="GET",status="2xx"}',
      2,
    );
    await expectCount('cloakroom_ready', 1);
    await expectCount('cloakroom_draining', 0);
    await testApp.running.drain(5_000);
    await expectCount('cloakroom_ready', 0);
    await expectCount('cloakroom_draining', 1);
  } finally {
    server.closeAllConnections();
    server.close();
  }
});

test('a full Redis counts as full, and not as other', async () => {
  await using metrics = await startMetricsApp();
  await metrics.testApp.redis.config('SET', 'maxmemory', '1');
  expect(await get(metrics, '/auth/login')).toBe(503);
  await expectGrown(metrics, 'cloakroom_redis_errors_total{kind="full"}');
  await expectGrown(metrics, 'cloakroom_sign_ins_total{outcome="redis"}');
  expect(await metrics.valueOf('cloakroom_redis_errors_total{kind="other"}')).toBe(0);
});

test('a silent Redis counts as timeout, and the process is not ready meanwhile', async () => {
  await using metrics = await startMetricsApp();
  const { testApp } = metrics;
  const { cookie } = await testApp.createSession({ expiresAt: 0 });
  process.kill(testApp.privateRedis.pid, 'SIGSTOP');
  try {
    expect(await get(metrics, API_PATH, cookie)).toBe(503);
    await expectGrown(metrics, 'cloakroom_redis_errors_total{kind="timeout"}');
    await metrics.expectCount('cloakroom_ready', 0);
  } finally {
    process.kill(testApp.privateRedis.pid, 'SIGCONT');
  }
  await metrics.expectCount('cloakroom_ready', 1);
});

test('a Redis that has ended counts as unreachable', async () => {
  await using metrics = await startMetricsApp();
  const { testApp } = metrics;
  const { cookie } = await testApp.createSession();
  process.kill(testApp.privateRedis.pid, 'SIGKILL');
  await eventually(async () => (await get(metrics, API_PATH, cookie)) === 503);
  await expectGrown(metrics, 'cloakroom_redis_errors_total{kind="unreachable"}');
  await metrics.expectCount('cloakroom_ready', 0);
});
