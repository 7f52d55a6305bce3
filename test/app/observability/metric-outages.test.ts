import { expect, test } from '@jest/globals';
import { API_PATH } from '../../support/constants.ts';
import { startMetricsHouse } from '../../support/metrics-house.ts';
import type { MetricsHouse } from '../../support/metrics-house.ts';
import { eventually } from '../../support/eventually.ts';

const expectGrown = async (metrics: MetricsHouse, series: string) =>
  eventually(async () => (await metrics.valueOf(series)) > 0);
const get = async ({ house }: MetricsHouse, path: string, cookie = '') =>
  (await fetch(house.origin + path, { headers: { cookie }, redirect: 'manual' })).status;

test('a process is ready and not draining while it serves, and then the other way round', async () => {
  await using metrics = await startMetricsHouse();
  const { house, expectCount } = metrics;
  await expectCount('cloakroom_ready', 1);
  await expectCount('cloakroom_draining', 0);
  await house.running.drain(5_000);
  await expectCount('cloakroom_ready', 0);
  await expectCount('cloakroom_draining', 1);
});

test('a full Redis is told from one that refuses for another reason', async () => {
  await using metrics = await startMetricsHouse();
  await metrics.house.redis.config('SET', 'maxmemory', '1');
  expect(await get(metrics, '/auth/login')).toBe(503);
  await expectGrown(metrics, 'cloakroom_redis_errors_total{kind="full"}');
  await expectGrown(metrics, 'cloakroom_sign_ins_total{outcome="redis"}');
  expect(await metrics.valueOf('cloakroom_redis_errors_total{kind="other"}')).toBe(0);
});

test('a Redis that does not answer is a time-out, and the process is not ready meanwhile', async () => {
  await using metrics = await startMetricsHouse();
  const { house } = metrics;
  const { cookie } = await house.enter({ expiresAt: 0 });
  process.kill(house.privateRedis.pid, 'SIGSTOP');
  try {
    expect(await get(metrics, API_PATH, cookie)).toBe(503);
    await expectGrown(metrics, 'cloakroom_redis_errors_total{kind="timeout"}');
    await metrics.expectCount('cloakroom_ready', 0);
  } finally {
    process.kill(house.privateRedis.pid, 'SIGCONT');
  }
  await metrics.expectCount('cloakroom_ready', 1);
});

test('a Redis that is gone is away', async () => {
  await using metrics = await startMetricsHouse();
  const { house } = metrics;
  const { cookie } = await house.enter();
  process.kill(house.privateRedis.pid, 'SIGKILL');
  await eventually(async () => (await get(metrics, API_PATH, cookie)) === 503);
  await expectGrown(metrics, 'cloakroom_redis_errors_total{kind="away"}');
  await metrics.expectCount('cloakroom_ready', 0);
});
