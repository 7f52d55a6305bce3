import { PerformanceObserver } from 'node:perf_hooks';
import { setImmediate as turn } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, expect, jest, test } from '@jest/globals';
import { createTokenRequestSender } from '../../../src/oauth/client.ts';
import { createDeferred, type Deferred } from '../../../src/promises.ts';
import { ConnectionPool } from '../../../src/upstream/connection-pool.ts';
import { createSharedLookup } from '../../../src/upstream/shared-lookup.ts';
import { startHttpServer } from '../../support/http-server.ts';

const ADDRESSES = [
  { address: '2001:db8::1', family: 6 },
  { address: '192.0.2.1', family: 4 },
];

/** Returns a shared lookup, and the lookups that it has started. */
function startLookups() {
  const started: Deferred<typeof ADDRESSES>[] = [];
  const shared = createSharedLookup(async () => {
    const lookup = createDeferred<typeof ADDRESSES>();
    started.push(lookup);
    return lookup.promise;
  });
  return { started, lookUp: promisify(shared) };
}

afterEach(() => void jest.useRealTimers());

test('connections that need the same name share one lookup, and each gets the form that it asked for', async () => {
  const { started, lookUp } = startLookups();
  const results = [{ all: true }, { all: true }, {}].map(async (form) =>
    lookUp('a.test', { hints: 0, ...form }),
  );
  expect(started).toHaveLength(1);
  started[0]?.resolve(ADDRESSES);
  expect(await Promise.all(results)).toEqual([ADDRESSES, ADDRESSES, '2001:db8::1']);
});

test('lookups with another name or family are separate', () => {
  const { started, lookUp } = startLookups();
  for (const name of ['a.test', 'b.test']) for (const family of [4, 6]) void lookUp(name, { family });
  expect(started).toHaveLength(4);
});

test('addresses are not kept', async () => {
  const { started, lookUp } = startLookups();
  for (const count of [1, 2]) {
    const result = lookUp('a.test', { all: true });
    expect(started).toHaveLength(count);
    started.at(-1)?.resolve(ADDRESSES);
    await result;
  }
});

test('a failure applies to the same lookup for a second after it', async () => {
  jest.useFakeTimers({ doNotFake: ['nextTick', 'setImmediate', 'queueMicrotask'] });
  const { started, lookUp } = startLookups();
  const error = new Error('getaddrinfo EAI_AGAIN a.test');
  const failure = { status: 'rejected', reason: error };
  const failing = [lookUp('a.test', {}), lookUp('a.test', {})];
  await jest.advanceTimersByTimeAsync(5_000);
  started[0]?.reject(error);
  expect(await Promise.allSettled(failing)).toEqual([failure, failure]);
  jest.advanceTimersByTime(999);
  const last = lookUp('a.test', {});
  expect(started).toHaveLength(1);
  await expect(last).rejects.toBe(error);
  jest.advanceTimersByTime(1);
  const result = lookUp('a.test', {});
  started[1]?.resolve(ADDRESSES);
  expect(await result).toBe('2001:db8::1');
});

test('the connection pool and token requests share one lookup of the service’s name', async () => {
  await using service = await startHttpServer((_req, res) => res.end('{}'));
  const origin = `http://localhost:${service.port}`;
  const pool = new ConnectionPool({ origin, connections: 3, timeoutMs: 60_000 });
  const requestToken = createTokenRequestSender(60_000);
  const lookups: unknown[] = [];
  const observer = new PerformanceObserver((list) => lookups.push(...list.getEntries()));
  observer.observe({ entryTypes: ['dns'] });
  try {
    const token = requestToken(`${origin}/token`, {
      method: 'POST',
      headers: {},
      body: '',
      redirect: 'manual',
    });
    const responses = [1, 2, 3].map(async () => pool.request({ path: '/', method: 'GET' }));
    await Promise.all([token, ...responses.map(async (response) => (await response).body.dump())]);
    await turn(); // Node notifies observers in the next turn
    expect(lookups).toMatchObject([{ name: 'lookup', detail: { hostname: 'localhost' } }]);
  } finally {
    observer.disconnect();
    await pool.destroy();
  }
});
