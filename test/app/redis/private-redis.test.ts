import { expect, test } from '@jest/globals';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { openRedis } from '../../support/redis/clients.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

test('a private Redis that fails to start reports the reason immediately', async () => {
  using watch = startStopwatch();
  await expect(startPrivateRedis(['no-such-setting yes'])).rejects.toThrow(
    /did not start: [^]*no-such-setting/,
  );
  expect(watch.ms()).toBeLessThan(5_000);
});

test('the reported process id belongs to Redis', async () => {
  await using redis = await startPrivateRedis();
  await using client = await openRedis(redis.url);
  expect(await client.info('server')).toContain(`\r\nprocess_id:${redis.pid}\r\n`);
});

test('a paused private Redis can still be stopped', async () => {
  const redis = await startPrivateRedis();
  process.kill(redis.pid, 'SIGSTOP');
  using watch = startStopwatch();
  await redis[Symbol.asyncDispose]();
  expect(watch.ms()).toBeLessThan(5_000);
});
