import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { once } from 'node:events';
import { StoreUnavailableError } from '../../../src/errors.ts';
import { eventually } from '../../support/eventually.ts';
import { startGetex } from '../../support/redis/session-reader.ts';
import { isReplica } from '../../support/redis/redis-node.ts';
import { startSentinels } from '../../support/redis/sentinels.ts';
import type { SentinelTopology } from '../../support/redis/sentinels.ts';

const SECONDS = 1_000;

let topology: SentinelTopology;
beforeAll(async () => {
  topology = await startSentinels();
});
afterAll(async () => topology[Symbol.asyncDispose]());

test('behind Sentinels, reads go over a connection of their own', async () => {
  await topology.settled();
  await using own = await startGetex(topology.url, SECONDS);
  await own.client.set('key', 'value', 'EX', SECONDS);
  await own.apart();
  const before = own.throughClient();
  expect(await own.getex('key')).toBe('value');
  expect(own.throughClient()).toBe(before);
});

test('a master that hung is not read when it comes back to find another in its place', async () => {
  await topology.settled();
  await using own = await startGetex(topology.url, SECONDS);
  await own.client.set('key', 'old', 'EX', SECONDS);
  await own.client.wait(2, 1_000);
  await own.apart();
  const master = await topology.master();
  const read: unknown[] = [];
  master.pause();
  try {
    await eventually(
      async () => own.client.status === 'ready' && own.client.stream.remotePort !== master.port,
    );
    await own.client.set('key', 'new', 'EX', SECONDS);
  } finally {
    master.resume();
  }
  await eventually(async () => {
    read.push(await own.getex('key').catch((error: unknown) => error));
    return isReplica(master);
  });
  await own.apart();
  read.push(await own.getex('key'));
  const others = read.filter((one) => one !== 'new' && !(one instanceof StoreUnavailableError));
  expect(others).toEqual([]);
  expect(read.at(-1)).toBe('new');
});

test('reads never go where the client is no more: one Sentinel may still name the master of before', async () => {
  await topology.settled();
  await using own = await startGetex(topology.url, SECONDS);
  await own.apart();
  const info = jest.spyOn(Redis.prototype, 'info');
  try {
    own.client.options.retryStrategy = () => 60_000; // it is on its way elsewhere, for long
    const left = once(own.client, 'close');
    own.client.stream.destroy();
    await left;
    const tries = info.mock.calls.length;
    await eventually(async () => {
      const read = await own.getex('key').catch((error: unknown) => error);
      expect(read).toBeInstanceOf(StoreUnavailableError);
      return info.mock.calls.length >= tries + 2; // it has reached one, and asked which
    });
  } finally {
    info.mockRestore();
  }
});
