import { expect, test } from '@jest/globals';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { openRedis } from '../../support/redis/clients.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

test('a Redis that does not start says why, at once', async () => {
  using watch = startStopwatch();
  await expect(startPrivateRedis(['no-such-setting yes'])).rejects.toThrow(
    /did not start: [^]*no-such-setting/,
  );
  expect(watch.ms()).toBeLessThan(5_000);
});

test('the process id is that of Redis', async () => {
  await using redis = await startPrivateRedis();
  await using client = await openRedis(redis.url);
  expect(await client.info('server')).toContain(`\r\nprocess_id:${redis.pid}\r\n`);
});

test('a Redis that is paused ends all the same', async () => {
  const redis = await startPrivateRedis();
  process.kill(redis.pid, 'SIGSTOP');
  using watch = startStopwatch();
  await redis[Symbol.asyncDispose]();
  expect(watch.ms()).toBeLessThan(5_000);
});
