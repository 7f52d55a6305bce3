import { afterAll, afterEach, beforeAll, expect, jest, test } from '@jest/globals';
import { Redis } from 'ioredis';
import { Socket } from 'node:net';
import { StoreUnavailableError } from '../../../src/errors.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import type { PrivateRedis } from '../../../src/redis/private-redis.ts';
import { closeRedis } from '../../../src/redis/client.ts';
import { eventually } from '../../support/eventually.ts';
import { startGetex } from '../../support/redis/session-reader.ts';

const SECONDS = 1_000;
const PASSWORD = 'pass:word/@1';
const DB = 3;

let server: PrivateRedis;
let url: string;
/** The test's own connection, to the database of the reads. */
let redis: Redis;

beforeAll(async () => {
  server = await startPrivateRedis([`requirepass "${PASSWORD}"`]);
  url = `${server.url.replace('://', `://:${encodeURIComponent(PASSWORD)}@`)}?db=${DB}`;
  redis = new Redis({ path: server.url.slice('redis+unix://'.length), password: PASSWORD, db: DB });
});
afterAll(async () => {
  await redis.quit();
  await server[Symbol.asyncDispose]();
});
// Redis hears a little later than we that a connection has ended.
afterEach(async () => eventually(async () => (await connections()) === 1));

/** Ids of the connections whose last command was GETEX. */
async function askers(): Promise<string[]> {
  const lines = String(await redis.client('LIST')).split('\n');
  return lines.filter((line) => /\bcmd=getex\b/.test(line)).map((line) => /\bid=(\d+)/.exec(line)?.[1] ?? '');
}

async function connections(): Promise<number> {
  return String(await redis.client('LIST'))
    .trim()
    .split('\n').length;
}

async function calls(): Promise<number> {
  const stats = await redis.info('commandstats');
  return Number(/cmdstat_getex:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}

test('a value is read, and its time to live begins anew', async () => {
  await using own = await startGetex(url, SECONDS);
  await own.apart();
  await redis.set('key', 'value', 'EX', 10);
  expect(await own.getex('key')).toBe('value');
  expect(await redis.ttl('key')).toBeGreaterThan(SECONDS - 10);
});

test('where there is no value, null is read, and none is made', async () => {
  await using own = await startGetex(url, SECONDS);
  await own.apart();
  expect(await own.getex('none')).toBeNull();
  expect(await redis.exists('none')).toBe(0);
});

test('an empty value is one', async () => {
  await using own = await startGetex(url, SECONDS);
  await own.apart();
  await redis.set('empty', '', 'EX', 10);
  expect(await own.getex('empty')).toBe('');
});

test('a value of 300 KB comes whole, and the next one behind it', async () => {
  await using own = await startGetex(url, SECONDS);
  await own.apart();
  const large = 'abc'.repeat(100_000);
  await redis.mset('large', large, 'small', 'small');
  const [first, second] = await Promise.all([own.getex('large'), own.getex('small')]);
  expect(first === large).toBe(true); // a difference would be printed
  expect(second).toBe('small');
});

test.each(['caf\u00e9', '\u4f60\u597d', '\u{1f9e5}', '\u00ff', 'a b\r\n$1\r\n', '', '\ud800'])(
  'the key %j is the one that the client writes to',
  async (key) => {
    await using own = await startGetex(url, SECONDS);
    await own.apart();
    await redis.set(`key:${key}`, 'value', 'EX', 10);
    const before = own.throughClient();
    expect(await own.getex(`key:${key}`)).toBe('value');
    expect(await own.getex(`key:${key}`)).toBe('value'); // the one before ended where it should
    expect(own.throughClient()).toBe(before);
  },
);

test('only the database of the URL is read', async () => {
  await using own = await startGetex(url, SECONDS);
  await own.apart();
  const elsewhere = redis.duplicate({ db: 0 });
  await elsewhere.set('where', 'in 0', 'EX', 10);
  await redis.set('where', `in ${DB}`, 'EX', 10);
  expect(await own.getex('where')).toBe(`in ${DB}`);
  await redis.del('where');
  expect(await own.getex('where')).toBeNull();
  await elsewhere.quit();
});

test('reads go through the client until a connection of their own is there, and then over that alone', async () => {
  await using own = await startGetex(url, SECONDS);
  const id = String(await own.client.client('ID'));
  const first = own.getex('key');
  expect(own.throughClient()).toBe(1);
  await first;
  expect(await askers()).toEqual([id]);

  await own.apart();
  const before = { throughClient: own.throughClient(), calls: await calls() };
  await own.client.ping(); // GETEX is no longer its last command
  await Promise.all([own.getex('key'), own.getex('key'), own.getex('key')]);
  expect(await calls()).toBe(before.calls + 3);
  expect(own.throughClient()).toBe(before.throughClient);
  const asking = await askers();
  expect(asking).toHaveLength(1);
  expect(asking).not.toContain(id);
});

test('when its connection is killed, reads go through the client, and soon over a new one', async () => {
  await using own = await startGetex(url, SECONDS);
  await own.apart();
  await redis.set('kept', 'value', 'EX', 10);
  await own.client.ping();
  const [killed = ''] = await askers();
  const before = own.throughClient();
  await redis.client('KILL', 'ID', killed);
  // Whether the loss is known here yet is a matter of who is faster.
  await eventually(async () => {
    const value = await own.getex('kept').catch((error: unknown) => error);
    expect(value === 'value' || value instanceof StoreUnavailableError).toBe(true);
    return own.throughClient() > before && value === 'value';
  });

  await own.apart();
  await own.client.ping();
  expect(await own.getex('kept')).toBe('value');
  const asking = await askers();
  expect(asking).toHaveLength(1);
  expect(asking).not.toContain(killed);
});

test('500 reads at a time each get their own value', async () => {
  await using own = await startGetex(url, SECONDS);
  await own.apart();
  const values = await setMany();
  const before = own.throughClient();
  expect(await Promise.all(values.map(async (value) => own.getex(value)))).toEqual(values);
  expect(own.throughClient()).toBe(before);
});

test('while connections are killed, a read gets its own value or none, never that of another', async () => {
  await using own = await startGetex(url, SECONDS);
  await own.apart();
  const values = await setMany();
  const before = own.throughClient();
  let served = 0;
  let failed = 0;
  for (let round = 0; round < 20; round += 1) {
    const reads = values.map(async (value) => own.getex(value));
    await new Promise((sent) => setImmediate(setImmediate, sent)); // they are on their way
    const killing = redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const later = values.map(async (value) => own.getex(value));
    await killing;
    const outcomes = await Promise.allSettled([...reads, ...later]);
    const rejected = outcomes.filter(({ status }) => status === 'rejected');
    const wrong = outcomes.filter((read, at) =>
      read.status === 'rejected'
        ? !(read.reason instanceof StoreUnavailableError)
        : read.value !== values[at % values.length],
    );
    expect(wrong).toEqual([]);
    failed += rejected.length;
    served += outcomes.length - rejected.length;
    await own.apart();
  }
  expect(served).toBeGreaterThan(0);
  expect(failed).toBeGreaterThan(0);
  expect(own.throughClient()).toBeGreaterThan(before);
  expect(await Promise.all(values.map(async (value) => own.getex(value)))).toEqual(values);
});

test('what Redis refuses is a StoreUnavailableError with its words, and reads go on', async () => {
  await using own = await startGetex(url, SECONDS);
  await own.apart();
  await own.client.ping();
  const [id] = await askers();
  await redis.rpush('list', 'item');
  await redis.set('string', 'value', 'EX', 10);
  const reads = [own.getex('string'), own.getex('list'), own.getex('string')];
  const [first, refused, last] = await Promise.allSettled(reads);
  await redis.del('list');
  expect([first, last].map((read) => read?.status === 'fulfilled' && read.value)).toEqual(['value', 'value']);
  expect(refused).toEqual({ status: 'rejected', reason: expect.any(StoreUnavailableError) });
  expect(refused).toMatchObject({ reason: { cause: { message: expect.stringMatching(/^WRONGTYPE /) } } });
  expect(await own.getex('string')).toBe('value');
  expect(await askers()).toEqual([id]); // over the same connection
});

test('while Redis takes no writes the connection is made anew, and reads go on once it does', async () => {
  await using own = await startGetex(url, SECONDS);
  await own.apart();
  await redis.set('kept', 'value', 'EX', 10);
  await own.client.ping();
  const [id] = await askers();
  await redis.call('REPLICAOF', '127.0.0.1', '1');
  try {
    await expect(own.getex('kept')).rejects.toThrow(StoreUnavailableError);
    await eventually(async () => !(await askers()).includes(id ?? ''));
  } finally {
    await redis.call('REPLICAOF', 'NO', 'ONE');
  }
  await own.apart();
  expect(await own.getex('kept')).toBe('value');
});

test('what one turn of the event loop asks for leaves in one write', async () => {
  await using own = await startGetex(url, SECONDS);
  await own.apart();
  const values = await setMany();
  const write = jest.spyOn(Socket.prototype, 'write');
  try {
    await Promise.all(values.map(async (value) => own.getex(value)));
    const writes = write.mock.calls.filter(([chunk]) => String(chunk).includes('GETEX'));
    expect(writes).toHaveLength(1);
  } finally {
    write.mockRestore();
  }
});

test.each([
  ['is closed', async (client: Redis) => closeRedis(client)],
  ['is cut off', async (client: Redis) => client.disconnect()],
])('its connection ends when the client %s', async (_how, end) => {
  const before = await connections();
  const own = await startGetex(url, SECONDS);
  await own.apart();
  expect(await connections()).toBe(before + 2);
  await end(own.client);
  await eventually(async () => (await connections()) === before);
  await expect(own.getex('key')).rejects.toThrow(StoreUnavailableError);
});

async function setMany(): Promise<string[]> {
  const values = Array.from({ length: 500 }, (_, at) => `value:${at}:${'x'.repeat(at)}`);
  await redis.mset(values.flatMap((value) => [value, value]));
  return values;
}
