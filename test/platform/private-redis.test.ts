import { expect, test } from '@jest/globals';
import { startPrivateRedis } from '../../src/platform/private-redis.ts';

test('a Redis that does not start says why, at once', async () => {
  const started = performance.now();
  await expect(startPrivateRedis(['no-such-setting yes'])).rejects.toThrow(
    /did not start: [^]*no-such-setting/,
  );
  expect(performance.now() - started).toBeLessThan(5_000);
});
