import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import express from 'express';
import request from 'supertest';
import { createHealthRouter } from '../../../src/observability/health.ts';
import { createLog } from '../../../src/observability/logger.ts';
import { isAnyMasterFull, servesSessions } from '../../../src/redis/probe.ts';
import { createSessionReads } from '../../../src/redis/session-reads.ts';
import { startPrivateRedis, type PrivateRedis } from '../../../src/redis/private-redis.ts';
import { parseRedisUrl } from '../../../src/config/redis-url.ts';
import { closeRedis, createRedis, redisReady, type RedisClient } from '../../../src/redis/client.ts';
import { eventually } from '../../support/eventually.ts';
import { startStopwatch } from '../../support/stopwatch.ts';

const MISSES_REDIS = { status: 'not ready', missing: ['redis'] };

let server: PrivateRedis;
/** A connection of the test's own. */
let admin: RedisClient;
/** The one that is asked about. */
let redis: RedisClient;
let draining = false;

beforeAll(async () => {
  server = await startPrivateRedis();
  admin = createRedis(parseRedisUrl(server.url), createLog('silent'));
  redis = createRedis(parseRedisUrl(server.url), createLog('silent'));
  await Promise.all([redisReady(admin), redisReady(redis)]);
});
afterAll(async () => {
  await Promise.all([closeRedis(admin), closeRedis(redis)]);
  await server[Symbol.asyncDispose]();
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

describe('a process that can serve', () => {
  test('is ready', async () => {
    expect(await readyz()).toEqual({ status: 200, body: { status: 'ready' } });
  });

  test('leaves nothing in Redis by being asked', async () => {
    await admin.flushall();
    await readyz();
    expect(await admin.dbsize()).toBe(0);
  });
});

describe('a process is not ready', () => {
  afterEach(backToReady);

  test('while it drains', async () => {
    draining = true;
    expect(await readyz()).toEqual({ status: 503, body: { status: 'not ready', missing: ['draining'] } });
    draining = false;
  });

  test('while Redis says nothing, which it tells within two seconds', async () => {
    process.kill(server.pid, 'SIGSTOP');
    using watch = startStopwatch();
    const answer = await readyz();
    const ms = watch.ms();
    process.kill(server.pid, 'SIGCONT');
    expect(ms).toBeLessThan(2_000);
    expect(answer).toEqual({ status: 503, body: MISSES_REDIS });
  });

  test('while Redis is a replica, though that answers PING', async () => {
    await admin.replicaof('127.0.0.1', '1');
    const answer = await readyz();
    const pong = await admin.ping();
    await admin.replicaof('NO', 'ONE');
    expect({ answer, pong }).toEqual({ answer: { status: 503, body: MISSES_REDIS }, pong: 'PONG' });
  });

  test('while Redis has too few replicas to take a write', async () => {
    await admin.config('SET', 'min-replicas-to-write', '1');
    const answer = await readyz();
    await admin.config('SET', 'min-replicas-to-write', '0');
    expect(answer).toEqual({ status: 503, body: MISSES_REDIS });
  });
});

describe('while Redis is over its memory', () => {
  beforeAll(async () => admin.config('SET', 'maxmemory', '1'));
  afterAll(async () => admin.config('SET', 'maxmemory', '0', 'maxmemory-policy', 'noeviction'));

  test('and evicts nothing, the process is ready, and limited', async () => {
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    expect(await readyz()).toEqual({ status: 200, body: { status: 'ready', limited: ['redis_full'] } });
  });

  test('and evicts, it is not limited', async () => {
    await admin.config('SET', 'maxmemory-policy', 'volatile-ttl');
    expect(await readyz()).toEqual({ status: 200, body: { status: 'ready' } });
  });

  test('and an ACL forbids to ask how full it is, the process is ready and tells nothing of it', async () => {
    await admin.config('SET', 'maxmemory-policy', 'noeviction');
    await admin.acl('SETUSER', 'app', 'on', '>secret', '~cloakroom:*', '+@all');
    const target = { ...parseRedisUrl(server.url), username: 'app', password: 'secret' };
    const client = createRedis(target, createLog('silent'));
    await redisReady(client);
    await admin.acl('SETUSER', 'app', '-info');
    const answer = await readyz(client);
    await closeRedis(client);
    expect(answer).toEqual({ status: 200, body: { status: 'ready' } });
  });
});

test('a Redis with room to spare below its bound limits nothing', async () => {
  await admin.config('SET', 'maxmemory', '1gb');
  const answer = await readyz();
  await admin.config('SET', 'maxmemory', '0');
  expect(answer.body).toEqual({ status: 'ready' });
});
