import { afterAll, beforeAll, expect, test } from '@jest/globals';
import express from 'express';
import { Cluster, Redis } from 'ioredis';
import request from 'supertest';
import { createHealthRouter } from '../../../src/observability/health.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { isAnyMasterFull, servesSessions } from '../../../src/redis/probe.ts';
import { createSessionReads } from '../../../src/redis/session-reads.ts';
import { startPrivateRedis, type PrivateRedis } from '../../../src/redis/private-redis.ts';
import { createRedis, redisReady, type RedisClient } from '../../../src/redis/client.ts';
import { freePort } from '../../support/fleet/free-port.ts';
import { eventually } from '../../support/eventually.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

interface Master {
  readonly port: number;
  /** Where the masters talk to each other. */
  readonly busPort: number;
  readonly server: PrivateRedis;
  readonly admin: Redis;
}

let masters: Master[];
let cluster: RedisClient;

beforeAll(async () => {
  masters = [await startMaster(0, 8_191), await startMaster(8_192, 16_383)];
  const [first, second] = masters;
  await first?.admin.call('CLUSTER', 'MEET', '127.0.0.1', second?.port ?? 0, second?.busPort ?? 0);
  await eventually(async () => (await Promise.all(masters.map(seesAllSlots))).every(Boolean));
  const nodes = masters.map(({ port }) => ({ host: '127.0.0.1', port }));
  cluster = createRedis({ kind: 'cluster', nodes, db: 0 }, createLog('silent'));
  await redisReady(cluster);
});
afterAll(async () => {
  cluster.disconnect();
  for (const { server } of masters) await server[Symbol.asyncDispose]();
});

async function startMaster(from: number, to: number): Promise<Master> {
  const [port, busPort] = [await freePort(), await freePort()];
  const server = await startPrivateRedis([
    'bind 127.0.0.1',
    `port ${port}`,
    'cluster-enabled yes',
    `cluster-port ${busPort}`,
    'cluster-require-full-coverage no',
  ]);
  const admin = new Redis({ port, host: '127.0.0.1' });
  await admin.cluster('ADDSLOTSRANGE', from, to);
  return { port, busPort, server, admin };
}

async function seesAllSlots({ admin }: Master): Promise<boolean> {
  return (await admin.cluster('INFO')).includes('cluster_slots_ok:16384');
}

async function readyz(): Promise<{ status: number; body: unknown }> {
  const app = express().use(
    createHealthRouter({
      servesSessions: async () => servesSessions(cluster, createSessionReads(cluster, 1), 'cloakroom:'),
      isRedisFull: async () => isAnyMasterFull(cluster),
    }),
  );
  using watch = startStopwatch();
  const { status, body } = await request(app).get('/readyz');
  expect(watch.ms()).toBeLessThan(2_000);
  return { status, body };
}

test('with a cluster, ready means that any master serves, and one that is full limits it', async () => {
  const [first, second] = masters;
  if (first === undefined || second === undefined) throw new Error('no masters');
  expect(await readyz()).toEqual({ status: 200, body: { status: 'ready' } });

  await second.admin.config('SET', 'maxmemory', '1');
  expect(await readyz()).toEqual({ status: 200, body: { status: 'ready', limited: ['redis_full'] } });
  for (const { admin } of masters) admin.disconnect();

  process.kill(first.server.pid, 'SIGSTOP');
  // A load balancer has a short timeout: the response must not wait until the command to the hanging master times out.
  if (!(cluster instanceof Cluster)) throw new Error('no cluster');
  const hanging = cluster.nodes('master').find(({ options }) => options.port === first.port);
  const timedOut = hanging?.info('memory').catch(() => 'timed out');
  expect(await Promise.race([readyz(), timedOut])).toMatchObject({ status: 200 });
  process.kill(first.server.pid, 'SIGKILL');
  expect((await readyz()).status).toBe(200);

  process.kill(second.server.pid, 'SIGKILL');
  expect(await readyz()).toEqual({ status: 503, body: { status: 'not ready', missing: ['redis'] } });
});
