import { once } from 'node:events';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, test } from '@jest/globals';
import { createDrain } from '../../src/platform/draining.ts';
import type { Drain } from '../../src/platform/draining.ts';
import { bindPort } from '../../src/platform/listening.ts';
import { startStopwatch } from '../support/stopwatch.ts';

const BETWEEN_CHECKS_MS = 100;

interface House extends Pick<Drain, 'drain'> {
  readonly server: Server;
  readonly port: number;
}

/** A server whose answers tell whether it refuses the request as a new call. */
async function serve(behindBalancer = false): Promise<House> {
  const bound = await bindPort('127.0.0.1', 0);
  const server = createServer();
  const { drain, refuses } = createDrain(server, { isCheck: ({ url }) => url === '/check', behindBalancer });
  server.on('request', ({ socket }, res) => res.end(refuses(socket) ? 'refused' : 'served'));
  await bound.handOver(server);
  return { server, drain, port: bound.port };
}

/** A connection that the server has accepted. */
async function enter({ server, port }: House): Promise<Socket> {
  const accepted = once(server, 'connection');
  const caller = connect(port, '127.0.0.1').setEncoding('utf8');
  await Promise.race([accepted, once(caller, 'close')]); // rejects where it is refused
  return caller;
}

/** The answer to a call, or to a check. */
async function ask(caller: Socket, path = '/'): Promise<string> {
  caller.write(`GET ${path} HTTP/1.1\r\nhost: x\r\n\r\n`);
  const [answer] = (await once(caller, 'data')) as [string];
  return answer;
}

describe('while it drains', () => {
  test('a call on an idle connection is refused, and closes it', async () => {
    const house = await serve();
    const caller = await enter(house);
    expect(await ask(caller)).toMatch(/served$/);
    const drained = house.drain(5_000);
    expect(await ask(caller)).toMatch(/connection: close[\s\S]*refused$/i);
    expect(await drained).toBe(true);
  });

  test('the first call on a connection that was opened just before is served, and closes it', async () => {
    const house = await serve();
    const caller = await enter(house);
    const drained = house.drain(5_000);
    expect(await ask(caller)).toMatch(/connection: close[\s\S]*served$/i);
    expect(await drained).toBe(true);
  });

  test('the answer to a call under way closes its connection', async () => {
    const house = await serve();
    const caller = await enter(house);
    house.server.prependOnceListener('request', () => void house.drain(5_000));
    expect(await ask(caller)).toMatch(/connection: close/i);
    await once(caller, 'close');
  });

  test('a balancer gets no 503 for what it sends on an idle connection: that is closed at once', async () => {
    const house = await serve(true);
    const caller = await enter(house);
    await ask(caller);
    const closed = once(caller, 'close');
    let heard = '';
    caller.on('data', (text: string) => (heard += text)).on('error', () => {});
    const drained = house.drain(5_000);
    caller.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
    await closed;
    expect(heard).toBe('');
    expect(await drained).toBe(true);
  });
});

describe('where somebody checks at intervals whether it is ready', () => {
  const checkAtIntervals = async (house: House) => {
    for (let times = 0; times < 3; times += 1) {
      await delay(BETWEEN_CHECKS_MS);
      const checker = await enter(house);
      await ask(checker, '/check');
      checker.destroy();
    }
  };

  test('a drain takes new connections until a check has been told, and no longer', async () => {
    const house = await serve(true);
    await checkAtIntervals(house);
    const drained = house.drain(10_000);
    expect(await ask(await enter(house))).toMatch(/connection: close[\s\S]*served$/i);
    await ask(await enter(house), '/check');
    expect(await drained).toBe(true);
    await expect(enter(house)).rejects.toThrow('ECONNREFUSED');
  });

  test('a drain goes on to take them while calls still come, for a third of its time', async () => {
    const house = await serve(true);
    await checkAtIntervals(house);
    const began = performance.now();
    using watch = startStopwatch();
    const drained = house.drain(3_000);
    const served = async () => (await ask(await enter(house))).endsWith('served');
    while (await served().catch(() => false)) await delay(20);
    // Without the calls it would have ended after the check that is due, and half a second.
    expect(performance.now() - began).toBeGreaterThan(950);
    expect(watch.ms()).toBeLessThan(2_500);
    expect(await drained).toBe(true);
  });
});

test('somebody who has checked but once is not waited for', async () => {
  const house = await serve(true);
  await ask(await enter(house), '/check');
  const drained = house.drain(10_000);
  await expect(enter(house)).rejects.toThrow('ECONNREFUSED');
  expect(await drained).toBe(true);
});
