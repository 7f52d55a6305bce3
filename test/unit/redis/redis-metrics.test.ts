import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { createRedisMetrics } from '../../../src/redis/redis-metrics.ts';

test.each<[kind: string, sentMs: number, error: Error | undefined]>([
  ['timeout', 1_600, undefined],
  ['unreachable', 1, new Error('Connection is closed.')],
  ['full', 1, new Error("OOM command not allowed when used memory > 'maxmemory'.")],
  ['other', 1, new Error('READONLY You can’t write against a read only replica.')],
])('a command is counted as %s after %i ms with the error %p', async (kind, sentMs, error) => {
  const registry = new Registry();
  createRedisMetrics(registry).settled('read', performance.now() - sentMs, error);
  const text = await registry.metrics();
  const counted = text.matchAll(/^cloakroom_redis_errors_total\{kind="(\w+)"\} 1$/gm);
  expect([...counted].map(([, each]) => each)).toEqual([kind]);
});
