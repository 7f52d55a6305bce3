import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { expect, jest, test } from '@jest/globals';
import { createDrain } from '../../src/platform/draining.ts';
import type { Drain } from '../../src/platform/draining.ts';
import { bindPort } from '../../src/platform/listening.ts';

/** More than fits anywhere on its way. */
const LARGE = Buffer.alloc(32 * 1024 * 1024);
const READ_WITHIN_MS = 200;

interface Asked {
  readonly drain: Drain['drain'];
  readonly caller: Socket;
}

/** Somebody who has asked for something large, and reads nothing of it. */
async function ask(path: string, readWithinMs = READ_WITHIN_MS): Promise<Asked> {
  const bound = await bindPort('127.0.0.1', 0);
  const server = createServer();
  const { drain } = createDrain(server, {
    isOwed: ({ url }) => url === '/owed',
    readWithinMs,
  });
  server.on('request', ({ url }, res) => (url === '/half' ? res.write(LARGE) : res.end(LARGE)));
  await bound.handOver(server);
  const caller = connect(bound.port, '127.0.0.1').pause();
  caller.on('error', () => {}); // it may be a reset
  const asked = once(server, 'request');
  caller.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
  await asked;
  return { drain, caller };
}

test('a drain gives strangers a short while to read what is written, and no longer', async () => {
  const { drain, caller } = await ask('/');
  const began = performance.now();
  expect(await drain(20_000)).toBe(true);
  expect(performance.now() - began).toBeGreaterThan(READ_WITHIN_MS);
  expect(performance.now() - began).toBeLessThan(10_000);
  caller.destroy();
});

test('where there is little time to drain, they have half of it', async () => {
  const { drain, caller } = await ask('/', 60_000);
  const now = performance.now.bind(performance);
  const clock = jest.spyOn(performance, 'now');
  try {
    const drained = drain(40_000);
    clock.mockImplementation(() => now() + 20_001); // its timers go on as before
    expect(await drained).toBe(true);
  } finally {
    clock.mockRestore();
  }
  caller.destroy();
});

test.each([
  ['somebody who is owed the answer', '/owed'],
  ['an answer that is not all written', '/half'],
])('a drain waits for %s as long as there is time', async (_what, path) => {
  const { drain, caller } = await ask(path);
  expect(await drain(4 * READ_WITHIN_MS)).toBe(false);
  caller.destroy();
});
