import { expect, test } from '@jest/globals';
import { API_PATH } from '../../support/constants.ts';
import { startMetricsApp } from '../../support/metrics-app.ts';
import type { MetricsApp } from '../../support/metrics-app.ts';
import { eventually } from '../../support/eventually.ts';

const expectGrown = async (metrics: MetricsApp, series: string) =>
  eventually(async () => (await metrics.valueOf(series)) > 0);
const get = async ({ testApp }: MetricsApp, path: string, cookie = '') =>
  (await fetch(testApp.origin + path, { headers: { cookie }, redirect: 'manual' })).status;

test('a process is ready and not draining while it serves, and then the other way round', async () => {
  await using metrics = await startMetricsApp();
  const { testApp, expectCount } = metrics;
  await expectCount('cloakroom_ready', 1);
  await expectCount('cloakroom_draining', 0);
  await testApp.running.drain(5_000);
  await expectCount('cloakroom_ready', 0);
  await expectCount('cloakroom_draining', 1);
});

test('a full Redis is told from one that refuses for another reason', async () => {
  await using metrics = await startMetricsApp();
  await metrics.testApp.redis.config('SET', 'maxmemory', '1');
  expect(await get(metrics, '/auth/login')).toBe(503);
  await expectGrown(metrics, 'cloakroom_redis_errors_total{kind="full"}');
  await expectGrown(metrics, 'cloakroom_sign_ins_total{outcome="redis"}');
  expect(await metrics.valueOf('cloakroom_redis_errors_total{kind="other"}')).toBe(0);
});

test('a Redis that does not answer is a time-out, and the process is not ready meanwhile', async () => {
  await using metrics = await startMetricsApp();
  const { testApp } = metrics;
  const { cookie } = await testApp.enter({ expiresAt: 0 });
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

test('a Redis that is gone is away', async () => {
  await using metrics = await startMetricsApp();
  const { testApp } = metrics;
  const { cookie } = await testApp.enter();
  process.kill(testApp.privateRedis.pid, 'SIGKILL');
  await eventually(async () => (await get(metrics, API_PATH, cookie)) === 503);
  await expectGrown(metrics, 'cloakroom_redis_errors_total{kind="unreachable"}');
  await metrics.expectCount('cloakroom_ready', 0);
});
