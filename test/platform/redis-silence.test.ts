import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { setTimeout as delay, setImmediate as turn } from 'node:timers/promises';
import { StoreUnavailableError } from '../../src/platform/errors.ts';
import { createLog } from '../../src/platform/log.ts';
import { startPrivateRedis } from '../../src/platform/private-redis.ts';
import type { PrivateRedis } from '../../src/platform/private-redis.ts';
import { parseRedisUrl } from '../../src/platform/redis-url.ts';
import { closeRedis, createRedis, fromStore, redisReady } from '../../src/platform/redis.ts';

/** Longer than any clock of ours for a command or for silence. */
const HELD_UP_MS = 3_000;
/** Until whoever watches for silence has seen that a reply is due. */
const SEEN_MS = 300;

let server: PrivateRedis;
let client: Redis;
beforeAll(async () => {
  server = await startPrivateRedis();
  const created = createRedis(parseRedisUrl(server.url), createLog('silent'));
  if (!(created instanceof Redis)) throw new Error('that is a cluster');
  client = created;
  await redisReady(client);
});
afterAll(async () => {
  await closeRedis(client);
  await server[Symbol.asyncDispose]();
});

/** As if the process had been stopped: no clock and no reply is looked at meanwhile. */
function holdUp(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

test('an answer that came while the process was held up counts, however long that was', async () => {
  const { stream } = client;
  process.kill(server.pid, 'SIGSTOP');
  const answer = fromStore(client.set('held-up', 'yes'));
  await delay(SEEN_MS);
  await turn(); // as after a stop, clocks are looked at before connections are
  process.kill(server.pid, 'SIGCONT');
  holdUp(HELD_UP_MS);
  expect(await answer).toBe('OK');
  expect(await fromStore(client.get('held-up'))).toBe('yes');
  expect(client.stream).toBe(stream);
});

test('a connection without an answer is ended, and none but a new one is asked again', async () => {
  const { stream } = client;
  process.kill(server.pid, 'SIGSTOP');
  try {
    const answer = fromStore(client.get('nobody-says'));
    const closed = new Promise<void>((resolve) => stream.once('close', () => resolve()));
    await expect(answer).rejects.toThrow(StoreUnavailableError);
    expect(stream.destroyed).toBe(false); // it had 1.5 s
    await closed;
  } finally {
    process.kill(server.pid, 'SIGCONT');
  }
  await redisReady(client);
  expect(await fromStore(client.ping())).toBe('PONG');
  expect(client.stream).not.toBe(stream);
});

test('one that has nothing to answer stays for as long as it takes', async () => {
  const { stream } = client;
  await delay(HELD_UP_MS);
  expect(await fromStore(client.ping())).toBe('PONG');
  expect(client.stream).toBe(stream);
});
