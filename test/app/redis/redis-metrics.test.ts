import { expect, test } from '@jest/globals';
import { Registry } from 'prom-client';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { countCommands, createRedisMetrics } from '../../../src/redis/redis-metrics.ts';
import { eventually } from '../../support/eventually.ts';
import { createClient } from '../../support/redis/clients.ts';

test('a command is counted as unreachable while Redis accepts connections but does not reply', async () => {
  await using server = await startPrivateRedis();
  const registry = new Registry();
  process.kill(server.pid, 'SIGSTOP');
  const client = createClient(server.url);
  countCommands(client, createRedisMetrics(registry));
  await eventually(async () => client.status === 'connect');
  await expect(client.get('key')).rejects.toThrow("Stream isn't writeable");
  client.disconnect();
  const text = await registry.metrics();
  expect(text).toContain('cloakroom_redis_errors_total{kind="unreachable"} 1\n');
  // The commands that ioredis sends to open a connection are not counted.
  expect(text).toContain('cloakroom_redis_command_duration_seconds_count{command="other"} 1\n');
});
