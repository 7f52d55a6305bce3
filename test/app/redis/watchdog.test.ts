import { afterEach, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { Redis } from 'ioredis';
import { EventEmitter } from 'node:events';
import { PassThrough } from 'node:stream';
import { setImmediate as turn, setTimeout as delay } from 'node:timers/promises';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { endSilentConnections } from '../../../src/redis/watchdog.ts';
import { storeReply } from '../../../src/redis/client.ts';
import { blockEventLoop } from '../../support/event-loop.ts';
import { openRedis } from '../../support/redis/clients.ts';

/** A command times out after 1.5 s, and the watchdog closes the connection 0.2 s later. */
const SILENCE_TIMEOUT_MS = 1_700;

describe('a connection', () => {
  let stream: PassThrough;
  let commandQueue: string[];
  beforeEach(() => {
    jest.useFakeTimers({ doNotFake: ['setImmediate'] });
    stream = new PassThrough().on('error', () => {});
    commandQueue = [];
    const client = Object.assign(new EventEmitter(), { stream, commandQueue });
    endSilentConnections(client as unknown as Redis);
    client.emit('connect');
  });
  afterEach(() => {
    stream.destroy();
    jest.useRealTimers();
  });
  const pass = async (ms: number) => {
    jest.advanceTimersByTime(ms);
    await turn();
  };

  test('that leaves a command without a reply for 1.8 s is closed', async () => {
    commandQueue.push('GET');
    await pass(SILENCE_TIMEOUT_MS);
    expect(stream.destroyed).toBe(false);
    await pass(100);
    expect(stream.destroyed).toBe(true);
    expect(jest.getTimerCount()).toBe(0);
  });

  test('that is idle stays open', async () => {
    await pass(60_000);
    expect(stream.destroyed).toBe(false);
  });

  test('that occasionally receives data stays open, because the reply may be long', async () => {
    commandQueue.push('GET');
    for (let at = 0; at < 5; at++) {
      await pass(SILENCE_TIMEOUT_MS);
      stream.emit('data', 'half a reply');
    }
    expect(stream.destroyed).toBe(false);
  });

  test('that has received a reply gets the full timeout again for a later command', async () => {
    commandQueue.push('GET');
    await pass(SILENCE_TIMEOUT_MS);
    commandQueue.pop();
    await pass(100);
    commandQueue.push('GET');
    await pass(SILENCE_TIMEOUT_MS);
    expect(stream.destroyed).toBe(false);
  });

  test('is read once more before it is closed', async () => {
    commandQueue.push('GET');
    jest.advanceTimersByTime(SILENCE_TIMEOUT_MS + 100);
    stream.emit('data', 'a reply that had arrived');
    await turn();
    expect(stream.destroyed).toBe(false);
  });
});

test('a reply that arrived while the process stalled is accepted, however long the stall was', async () => {
  await using server = await startPrivateRedis();
  await using client = await openRedis(server.url);
  const { stream } = client;
  process.kill(server.pid, 'SIGSTOP');
  const reply = storeReply(client.set('key', 'value'));
  await delay(300); // the watchdog notices the command
  await turn(); // after a stall, timers run before connections are read
  process.kill(server.pid, 'SIGCONT');
  blockEventLoop(2 * SILENCE_TIMEOUT_MS);
  expect(await reply).toBe('OK');
  expect(client.stream).toBe(stream);
});
