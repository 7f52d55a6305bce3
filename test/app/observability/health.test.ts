import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import express from 'express';
import { Cluster, Redis } from 'ioredis';
import request from 'supertest';
import { createHealthRouter } from '../../../src/observability/health.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { isAnyMasterFull, servesSessions } from '../../../src/redis/probe.ts';
import { createSessionReads } from '../../../src/redis/session-reads.ts';
import { startPrivateRedis, type PrivateRedis } from '../../../src/redis/private-redis.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { closeRedis, createRedis, redisReady, type RedisClient } from '../../../src/redis/client.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import { freePort } from '../../support/fleet/free-port.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

const READY = { status: 200, body: { status: 'ready' } };
const LIMITED = { status: 200, body: { status: 'ready', limited: ['redis_full'] } };
const notReady = (missing: string) => ({ status: 503, body: { status: 'not ready', missing: [missing] } });

const server = useFixture(startPrivateRedis);
/** The test's own connection. */
let admin: RedisClient;
/** The connection whose health is checked. */
let redis: RedisClient;
let draining = false;

beforeAll(async () => {
  admin = createRedis(parseRedisUrl(server.url), createLog('silent'));
  redis = createRedis(parseRedisUrl(server.url), createLog('silent'));
  await Promise.all([redisReady(admin), redisReady(redis)]);
});
afterAll(async () => {
  await Promise.all([closeRedis(admin), closeRedis(redis)]);
});

async function readyz(client = redis): Promise<{ status: number; body: unknown }> {
  const app = express().use(
    createHealthRouter({
      servesSessions: async () => servesSessions(client, createSessionReads(client, 1), 'cloakroom:'),
      isRedisFull: async () => isAnyMasterFull(client),
      isDraining: () => draining,
    }),
  );
  const { status, body } = await request(app).get('/readyz');
  return { status, body };
}

const backToReady = async () => eventually(async () => (await readyz()).status === 200);

test('a process that can serve requests is ready, and the check leaves nothing in Redis', async () => {
  await admin.flushall();
  expect(await readyz()).toEqual(READY);
  expect(await admin.dbsize()).toBe(0);
});

describe('a process is not ready', () => {
  afterEach(backToReady);

  test('while it is draining', async () => {
    draining = true;
    expect(await readyz()).toEqual(notReady('draining'));
    draining = false;
  });

  test('while Redis hangs, and reports this within two seconds', async () => {
    process.kill(server.pid, 'SIGSTOP');
    using watch = startStopwatch();
    const response = await readyz();
    const ms = watch.ms();
    process.kill(server.pid, 'SIGCONT');
    expect(ms).toBeLessThan(2_000);
    expect(response).toEqual(notReady('redis'));
  });

  test('while Redis is a replica, although it replies to PING', async () => {
    await admin.replicaof('127.0.0.1', '1');
    const response = await readyz();
    const pong = await admin.ping();
    await admin.replicaof('NO', 'ONE');
    expect({ response, pong }).toEqual({ response: notReady('redis'), pong: 'PONG' });
  });

  test('while Redis has too few replicas to accept writes', async () => {
    await admin.config('SET', 'min-replicas-to-write', '1');
    const response = await readyz();
    await admin.config('SET', 'min-replicas-to-write', '0');
    expect(response).toEqual(notReady('redis'));
  });
});

describe('while Redis exceeds its memory limit', () => {
  beforeAll(async () => admin.config('SET', 'maxmemory', '1'));
  afterAll(async () => admin.config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction'));

  test('and does not evict keys, the process is ready but limited', async () => {
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    expect(await readyz()).toEqual(LIMITED);
  });

  test('and evicts keys, the process is ready and not limited', async () => {
    await admin.config('SET', 'maxmemory-policy', 'volatile-ttl');
    expect(await readyz()).toEqual(READY);
  });

  test('and an ACL forbids INFO, the process is ready and not limited', async () => {
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await admin.acl('SETUSER', 'app', 'on', '>secret', '~cloakroom:*', '+@all');
    const target = { ...parseRedisUrl(server.url), username: 'app', password: 'secret' };
    const client = createRedis(target, createLog('silent'));
    await redisReady(client);
    await admin.acl('SETUSER', 'app', '-info');
    const response = await readyz(client);
    await closeRedis(client);
    expect(response).toEqual(READY);
  });
});

test('a process is not limited while Redis uses less than its maxmemory', async () => {
  await admin.config('SET', 'maxmemory', '1gb');
  const response = await readyz();
  await admin.config('SET', 'maxmemory', '0');
  expect(response).toEqual(READY);
});

interface Master {
  readonly port: number;
  /** The port of the cluster bus. */
  readonly busPort: number;
  readonly node: PrivateRedis;
  readonly connection: Redis;
}

async function startMaster(from: number, to: number): Promise<Master> {
  const [port, busPort] = [await freePort(), await freePort()];
  const node = await startPrivateRedis([
    'bind 127.0.0.1',
    `port ${port}`,
    'cluster-enabled yes',
    `cluster-port ${busPort}`,
    'cluster-require-full-coverage no',
  ]);
  const connection = new Redis({ port, host: '127.0.0.1' });
  await connection.cluster('ADDSLOTSRANGE', from, to);
  return { port, busPort, node, connection };
}

async function seesAllSlots({ connection }: Master): Promise<boolean> {
  return (await connection.cluster('INFO')).includes('cluster_slots_ok:16384');
}

describe('with a cluster', () => {
  let masters: Master[];
  let cluster: RedisClient;
  beforeAll(async () => {
    masters = [await startMaster(0, 8_191), await startMaster(8_192, 16_383)];
    const [first, second] = masters;
    await first?.connection.call('CLUSTER', 'MEET', '127.0.0.1', second?.port ?? 0, second?.busPort ?? 0);
    await eventually(async () => (await Promise.all(masters.map(seesAllSlots))).every(Boolean));
    const nodes = masters.map(({ port }) => ({ host: '127.0.0.1', port }));
    cluster = createRedis({ kind: 'cluster', nodes, db: 0 }, createLog('silent'));
    await redisReady(cluster);
  });
  afterAll(async () => {
    cluster.disconnect();
    for (const { node } of masters) await node[Symbol.asyncDispose]();
  });

  const readyzInTime = async () => {
    using watch = startStopwatch();
    const response = await readyz(cluster);
    expect(watch.ms()).toBeLessThan(2_000);
    return response;
  };

  test('the process is ready while at least one master is available, and limited while one master is full', async () => {
    const [first, second] = masters;
    if (first === undefined || second === undefined) throw new Error('no masters');
    expect(await readyzInTime()).toEqual(READY);

    await second.connection.config('SET', 'maxmemory', '1');
    expect(await readyzInTime()).toEqual(LIMITED);
    for (const { connection } of masters) connection.disconnect();

    process.kill(first.node.pid, 'SIGSTOP');
    // Load balancers have short timeouts, so the response must not wait for the command to the hung master.
    if (!(cluster instanceof Cluster)) throw new Error('no cluster');
    const hanging = cluster.nodes('master').find(({ options }) => options.port === first.port);
    const timedOut = hanging?.info('memory').catch(() => 'timed out');
    expect(await Promise.race([readyzInTime(), timedOut])).toMatchObject({ status: 200 });
    process.kill(first.node.pid, 'SIGKILL');
    expect((await readyzInTime()).status).toBe(200);

    process.kill(second.node.pid, 'SIGKILL');
    expect(await readyzInTime()).toEqual(notReady('redis'));
  });
});
