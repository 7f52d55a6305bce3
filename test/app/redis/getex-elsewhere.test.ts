import { connect } from 'node:net';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, beforeEach, expect, test } from '@jest/globals';
import { createLog } from '../../../src/observability/logger.ts';
import { startRedisServer } from '../../support/fleet/redis-server.ts';
import type { RedisServer } from '../../support/fleet/redis-server.ts';
import { eventually } from '../../support/eventually.ts';
import { startGetex } from '../../support/redis/session-reader.ts';
import { startTcpServer } from '../../support/tcp-server.ts';

// One address that leads to one Redis and then to another: a balancer, a name that has moved.

const SECONDS = 100;

let home: RedisServer;
let elsewhere: RedisServer;
let address: Awaited<ReturnType<typeof startAddress>>;

beforeAll(async () => {
  [home, elsewhere] = await Promise.all([startRedisServer(), startRedisServer()]);
  address = await startAddress();
});
beforeEach(() => {
  address.port = home.port;
});
afterAll(async () => {
  await address[Symbol.asyncDispose]();
  await Promise.all([home, elsewhere].map(async (redis) => redis[Symbol.asyncDispose]()));
});

/** Leads new connections to `port`; those that stand stay where they are. */
async function startAddress() {
  const pairs = new Set<{ readonly from: Socket; readonly said: () => string; readonly port: number }>();
  const state = { port: home.port };
  const server = await startTcpServer((from) => {
    const to = connect(state.port, '127.0.0.1');
    let said = '';
    const pair = { from, said: () => said, port: state.port };
    pairs.add(pair);
    from.on('data', (chunk: Buffer) => (said += chunk.toString('latin1')));
    for (const [one, other] of [
      [from, to],
      [to, from],
    ] as const) {
      one.on('error', () => {}).once('close', () => other.destroy());
      one.pipe(other);
    }
    from.once('close', () => pairs.delete(pair));
  });
  return Object.assign(state, {
    url: `redis://127.0.0.1:${server.port}`,
    leadingTo: (port: number) => [...pairs].filter((pair) => pair.port === port),
    /** Cuts off those over which this was said. */
    cut(word: RegExp) {
      for (const { from, said } of pairs) if (word.test(said())) from.destroy();
    },
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  });
}

test('reads stay where is written, though their connection would lead elsewhere; and follow from there', async () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(line) });
  await using own = await startGetex(address.url, SECONDS, log);
  await own.apart();
  await own.client.set('session', 'at home', 'EX', SECONDS);

  address.port = elsewhere.port;
  address.cut(/GETEX/);
  // It has been there, asked who that is, and come again.
  await eventually(async () => address.leadingTo(elsewhere.port).some(({ said }) => /info/i.test(said())));
  await eventually(async () => address.leadingTo(elsewhere.port).length === 0);
  expect(await own.getex('session')).toBe('at home');
  await eventually(async () =>
    lines.some((line) => line.includes('sessions have no connection for reading')),
  );
  expect(await own.getex('session')).toBe('at home');

  address.cut(/"?session"?\r\n/); // the client's: it has moved now
  await own.apart();
  expect(await own.getex('session')).toBeNull();
  expect(lines.at(-1)).toContain('sessions have a connection for reading again');
  expect(address.leadingTo(home.port)).toEqual([]);
});

test('while the address leads to a replica no read fails', async () => {
  await elsewhere.makeReadOnly();
  try {
    await using own = await startGetex(address.url, SECONDS);
    await own.apart();
    await own.client.set('session', 'at home', 'EX', SECONDS);
    address.port = elsewhere.port;
    address.cut(/GETEX/);
    const reads = [];
    await eventually(async () => {
      reads.push(await own.getex('session').catch((error: unknown) => error));
      return address.leadingTo(elsewhere.port).some(({ said }) => /info/i.test(said()));
    });
    for (let more = 0; more < 50; more += 1)
      reads.push(await own.getex('session').catch((error: unknown) => error));
    // The first one may have been under way when it was cut.
    expect(new Set(reads.slice(1))).toEqual(new Set(['at home']));
  } finally {
    await elsewhere.makeWritable();
  }
});
