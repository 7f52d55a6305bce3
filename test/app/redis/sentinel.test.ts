import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { createLog } from '../../../src/observability/logger.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { closeRedis, createRedis, redisReady } from '../../../src/redis/client.ts';
import { eventually } from '../../support/eventually.ts';
import { startSentinels } from '../../support/redis/sentinels.ts';
import type { SentinelTopology } from '../../support/redis/sentinels.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

let topology: SentinelTopology;

beforeAll(async () => {
  topology = await startSentinels();
});
afterAll(async () => topology[Symbol.asyncDispose]());

/** A connection as Cloakroom makes it. */
function connect(): Redis & AsyncDisposable {
  const client = createRedis(parseRedisUrl(topology.url), createLog('silent'));
  if (!(client instanceof Redis)) throw new Error('that is a cluster');
  return Object.assign(client, { [Symbol.asyncDispose]: async () => closeRedis(client) });
}

test('a Sentinel that hangs is passed over', async () => {
  const [first] = topology.sentinels;
  first?.pause();
  try {
    await using client = connect();
    await redisReady(client);
    expect(await client.ping()).toBe('PONG');
  } finally {
    first?.resume();
  }
});

test('a connection that lies idle leaves a master that hangs once the Sentinels have replaced it', async () => {
  await topology.settled();
  await using client = connect();
  await redisReady(client);
  const master = await topology.master();
  master.pause();
  try {
    await eventually(async () => client.status === 'ready' && client.stream.remotePort !== master.port);
    expect(await client.set('key', 'value', 'EX', 60)).toBe('OK');
  } finally {
    master.resume();
  }
});

test('closing takes no longer than a command, though the master hangs', async () => {
  await topology.settled();
  const client = connect();
  await redisReady(client);
  const master = await topology.master();
  master.pause();
  using watch = startStopwatch();
  try {
    await closeRedis(client);
    expect(watch.ms()).toBeLessThan(2_000);
  } finally {
    master.resume();
  }
});
