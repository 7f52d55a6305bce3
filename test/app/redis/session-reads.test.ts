import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals';
import { StoreUnavailableError, closeRedis } from '../../../src/redis/client.ts';
import { startPrivateRedis } from '../../../src/redis/private-redis.ts';
import { RedisTimeoutError } from '../../../src/redis/watchdog.ts';
import { eventually } from '../../support/eventually.ts';
import { useFixture } from '../../support/fixtures.ts';
import { openRedis, openSessionReader, type SessionReader } from '../../support/redis/clients.ts';

const IDLE_SECONDS = 1_000;

const server = useFixture(startPrivateRedis);
/** The test's own connection. */
const redis = useFixture(async () => openRedis(server.url));
let reader: SessionReader;

beforeEach(async () => {
  await redis.flushall();
  reader = await openSessionReader(server.url, IDLE_SECONDS);
});
afterEach(async () => reader[Symbol.asyncDispose]());

const fulfilled = (value: string) => ({ status: 'fulfilled', value });
const unavailable = (message: RegExp) => ({
  status: 'rejected',
  reason: expect.objectContaining({
    name: 'StoreUnavailableError',
    cause: expect.objectContaining({ message: expect.stringMatching(message) }),
  }),
});

/** Runs `work`. Resolves with the number of EVAL and GETEX commands that Redis ran, including those run by scripts. */
async function countsOf(work: () => Promise<unknown>): Promise<{ eval: number; getex: number }> {
  await redis.config('RESETSTAT');
  await work();
  const stats = await redis.info('commandstats');
  const count = (name: string) =>
    Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0);
  return { eval: count('eval'), getex: count('getex') };
}

/** Stores values of different lengths, using each value as its own key. */
async function setMany(count: number): Promise<string[]> {
  const values = Array.from({ length: count }, (_, at) => `value:${at}:${'x'.repeat(at)}`);
  await redis.mset(values.flatMap((one) => [one, one]));
  return values;
}

describe.each([
  ['a single read', []],
  ['a read in a batch', ['another']],
])('%s', (_what, others) => {
  const readFirst = async (key: string) => {
    const [first] = await Promise.all([key, ...others].map(reader.read));
    return first;
  };

  test('returns the value and resets its time to live', async () => {
    await redis.set('key', 'value', 'EX', 10);
    expect(await readFirst('key')).toBe('value');
    expect(await redis.ttl('key')).toBeGreaterThan(IDLE_SECONDS - 10);
  });

  test('returns null for a missing key and does not create the key', async () => {
    expect(await readFirst('none')).toBeNull();
    expect(await redis.exists('none')).toBe(0);
  });

  test('distinguishes an empty value from a missing key', async () => {
    await redis.set('empty', '');
    expect(await readFirst('empty')).toBe('');
  });

  test('rejects with a StoreUnavailableError once the client is closed', async () => {
    await closeRedis(reader.client);
    await expect(readFirst('key')).rejects.toThrow(StoreUnavailableError);
  });
});

describe('the reads in two event loop turns', () => {
  test.each([
    { reads: 3, commands: 1 },
    { reads: 100, commands: 1 },
    { reads: 250, commands: 3 },
  ])('are sent in batches of at most 100 keys: $reads reads', async ({ reads, commands }) => {
    const values = await setMany(reads);
    const counts = await countsOf(async () => {
      expect(await Promise.all(values.map(reader.read))).toEqual(values);
    });
    expect(counts).toEqual({ eval: commands, getex: reads });
  });

  test.each([
    { turns: 1, counts: { eval: 1, getex: 2 } },
    { turns: 2, counts: { eval: 0, getex: 2 } },
  ])(
    'are batched, unlike the reads in later turns: $turns turns between two reads',
    async ({ turns, counts }) => {
      const values = await setMany(2);
      const [first = '', second = ''] = values;
      const measured = await countsOf(async () => {
        const early = reader.read(first);
        for (let at = 0; at < turns; at += 1) await turn();
        expect(await Promise.all([early, reader.read(second)])).toEqual(values);
      });
      expect(measured).toEqual(counts);
    },
  );

  test('may share a key', async () => {
    await redis.mset('key', 'value', 'other', 'other value');
    const reads = ['key', 'other', 'key'].map(reader.read);
    expect(await Promise.all(reads)).toEqual(['value', 'other value', 'value']);
  });

  test('may return large and small values', async () => {
    const large = 'abc'.repeat(100_000);
    await redis.mset('large', large, 'small', 'small');
    const [first, second] = await Promise.all(['large', 'small'].map(reader.read));
    expect(first === large).toBe(true); // with toBe(large), Jest would print the difference
    expect(second).toBe('small');
  });

  test('still succeed after Redis has lost its scripts', async () => {
    await setMany(2);
    await Promise.all(['a', 'b'].map(reader.read));
    await redis.script('FLUSH');
    expect(await Promise.all(['a', 'b'].map(reader.read))).toEqual([null, null]);
  });
});

describe('a value of the wrong type', () => {
  beforeEach(async () => {
    await redis.rpush('list', 'item');
    await redis.set('string', 'value');
  });

  test('makes its own read fail but not the other reads in the batch', async () => {
    const reads = await Promise.allSettled(['string', 'list', 'string'].map(reader.read));
    expect(reads).toEqual([fulfilled('value'), unavailable(/^WRONGTYPE /), fulfilled('value')]);
  });

  test('makes a single read fail', async () => {
    expect(await Promise.allSettled([reader.read('list')])).toEqual([unavailable(/^WRONGTYPE /)]);
  });
});

test('reads and writes use the same connection', async () => {
  const id = String(await reader.client.client('ID'));
  await Promise.all(['a', 'b'].map(reader.read));
  const connections = String(await redis.client('LIST')).split('\n');
  expect(connections.filter((line) => /\bcmd=eval\b/.test(line))).toEqual([
    expect.stringContaining(`id=${id} `),
  ]);
});

test('while connections are being killed, each read returns its own value or fails', async () => {
  const values = await setMany(150);
  const counts = { served: 0, failed: 0 };
  for (let round = 0; round < 20; round += 1) {
    const reads = values.map(reader.read);
    for (let at = 0; at < 3; at += 1) await turn(); // until the reads are sent
    const killing = redis.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
    const later = values.map(reader.read);
    await killing;
    const outcomes = await Promise.allSettled([...reads, ...later]);
    const wrong = outcomes.filter((read, at) =>
      read.status === 'rejected'
        ? !(read.reason instanceof StoreUnavailableError)
        : read.value !== values[at % values.length],
    );
    expect(wrong).toEqual([]);
    const failed = outcomes.filter(({ status }) => status === 'rejected').length;
    counts.failed += failed;
    counts.served += outcomes.length - failed;
    await eventually(async () => reader.client.status === 'ready');
  }
  expect(counts.served).toBeGreaterThan(0);
  expect(counts.failed).toBeGreaterThan(0);
});

test.each([
  ['a single read', ['kept']],
  ['a batch', ['kept', 'kept']],
])('the client reconnects after a READONLY reply to %s', async (_what, keys) => {
  await redis.set('kept', 'value');
  const before = await reader.client.client('ID');
  await redis.call('REPLICAOF', '127.0.0.1', '1');
  try {
    const reads = await Promise.allSettled(keys.map(reader.read));
    expect(reads).toEqual(keys.map(() => unavailable(/\bREADONLY\b/)));
  } finally {
    await redis.call('REPLICAOF', 'NO', 'ONE');
  }
  await eventually(async () => reader.read('kept').then(Boolean, () => false));
  expect(await reader.client.client('ID')).not.toBe(before);
});

test('an error for all keys makes the batch fail but does not close the connection', async () => {
  const before = await reader.client.client('ID');
  await redis.config('SET', 'min-replicas-to-write', '1');
  try {
    const reads = await Promise.allSettled(['a', 'b'].map(reader.read));
    expect(reads).toEqual([unavailable(/\bNOREPLICAS\b/), unavailable(/\bNOREPLICAS\b/)]);
  } finally {
    await redis.config('SET', 'min-replicas-to-write', '0');
  }
  expect(await Promise.all(['a', 'b'].map(reader.read))).toEqual([null, null]);
  expect(await reader.client.client('ID')).toBe(before);
});

test('if the Redis user lacks permission to run EVAL, a batch fails with the error from Redis', async () => {
  const rules = ['on', '>secret', '~*', '+@all', '-eval'];
  await redis.call('ACL', 'SETUSER', 'modest', 'reset', ...rules);
  await using modest = await openSessionReader(server.url.replace('://', '://modest:secret@'), IDLE_SECONDS);
  expect(await Promise.allSettled(['a', 'b'].map(modest.read))).toEqual([
    unavailable(/^NOPERM /),
    unavailable(/^NOPERM /),
  ]);
  expect(await modest.read('a')).toBeNull();
});

describe('while Redis hangs', () => {
  test('each read fails after 1.5 s, and later reads never get a delayed reply', async () => {
    const values = await setMany(4);
    const [a = '', b = '', c = '', d = ''] = values;
    process.kill(server.pid, 'SIGSTOP');
    const began = performance.now();
    const reads = await Promise.allSettled([a, b].map(reader.read)).finally(() =>
      process.kill(server.pid, 'SIGCONT'),
    );
    const timedOut = {
      status: 'rejected',
      reason: expect.objectContaining({ cause: new RedisTimeoutError() }),
    };
    expect(reads).toEqual([timedOut, timedOut]);
    expect(performance.now() - began).toBeGreaterThan(1_450);
    await eventually(async () => reader.client.status === 'ready');
    expect(await Promise.all([c, d].map(reader.read))).toEqual([c, d]);
  });

  test('soon after a timeout, the connection is closed and its waiting reads fail', async () => {
    const closed = new Promise((resolve) => reader.client.once('close', resolve));
    process.kill(server.pid, 'SIGSTOP');
    try {
      const first = reader.read('a').catch((error: unknown) => error);
      await new Promise((later) => setTimeout(later, 1_000));
      const second = reader.read('b').catch((error: unknown) => error);
      expect(await first).toMatchObject({ cause: new RedisTimeoutError() });
      await closed;
      expect(await second).toMatchObject({ cause: { name: 'MaxRetriesPerRequestError' } });
    } finally {
      process.kill(server.pid, 'SIGCONT');
    }
    await eventually(async () => reader.client.status === 'ready');
  });
});
