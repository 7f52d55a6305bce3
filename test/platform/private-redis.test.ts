import { expect, test } from '@jest/globals';
import { startPrivateRedis } from '../../src/platform/private-redis.ts';

test('a Redis that does not start says why, at once', async () => {
  const started = performance.now();
  await expect(startPrivateRedis(['no-such-setting yes'])).rejects.toThrow(
    /did not start: [^]*no-such-setting/,
  );
  expect(performance.now() - started).toBeLessThan(5_000);
});

test('a Redis that is paused ends all the same', async () => {
  const redis = await startPrivateRedis();
  process.kill(redis.pid, 'SIGSTOP');
  const began = performance.now();
  await redis[Symbol.asyncDispose]();
  expect(performance.now() - began).toBeLessThan(5_000);
});
