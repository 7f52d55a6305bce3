import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { StoreUnavailableError } from '../../../src/errors.ts';
import { createRedisMetrics } from '../../../src/redis/redis-metrics.ts';
import { fromStore } from '../../../src/redis/client.ts';

/** How the errors of a command that was sent this long ago (ms) are counted. */
async function countsOf(sentMs: number, error?: unknown): Promise<string[]> {
  const registry = new Registry();
  createRedisMetrics(registry).settled('read', performance.now() - sentMs, error);
  const text = await registry.metrics();
  return [...text.matchAll(/^cloakroom_redis_errors_total\{kind="(\w+)"\} 1$/gm)].map(
    ([, kind = '']) => kind,
  );
}

test('a command that was given up counts as a timeout, though its timer was early', async () => {
  const error: unknown = await fromStore(new Promise(() => {})).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(StoreUnavailableError);
  expect(await countsOf(1_490, error)).toEqual(['timeout']);
});

test('a reply that came too late counts as a timeout', async () => {
  expect(await countsOf(1_600)).toEqual(['timeout']);
});

test.each([
  ['unreachable', new Error('Connection is closed.')],
  ['full', new Error("OOM command not allowed when used memory > 'maxmemory'.")],
  ['other', new Error('READONLY You can’t write against a read only replica.')],
])('a failure that counts as %s', async (kind, cause) => {
  expect(await countsOf(1, new StoreUnavailableError(cause))).toEqual([kind]);
});
