import type { RequestListener, ServerResponse } from 'node:http';
import { setImmediate as turn } from 'node:timers/promises';
import { expect, jest, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { ConnectionPool } from '../../../src/upstream/connection-pool.ts';
import { eventually } from '../../support/eventually.ts';
import { startHttpServer } from '../../support/http-server.ts';

/** Starts a service and a pool of connections to the service. */
async function startPool(respond: RequestListener, connections = 1) {
  const server = await startHttpServer(respond);
  const origin = `http://127.0.0.1:${server.port}`;
  const pool = new ConnectionPool({ origin, connections, timeoutMs: 60_000 });
  return {
    pool,
    async [Symbol.asyncDispose]() {
      await pool.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

test('the pool keeps its connection after undici rejects a request', async () => {
  await using started = await startPool((_req, res) => res.end('{}'));
  const statusOf = async (headers: string[]) => {
    const { statusCode, body } = await started.pool.request({ path: '/', method: 'GET', headers });
    await body.dump();
    return statusCode;
  };
  await expect(statusOf(['no name', 'x'])).rejects.toThrow('invalid header key');
  expect(await statusOf(['name', 'x'])).toBe(200);
});

test('the pool never sends a request that is cancelled while it is waiting', async () => {
  const received: string[] = [];
  const held: ServerResponse[] = [];
  await using started = await startPool((req, res) => {
    received.push(req.url ?? '');
    held.push(res);
  });
  const { pool } = started;
  const [first, cancelled, last] = ['/first', '/cancelled', '/last'].map((path) => {
    const { promise, resolve } = createDeferred<void>();
    const handler = {
      onRequestStart: () => {},
      onResponseEnd: () => resolve(),
      onResponseError: () => resolve(),
    };
    pool.dispatch({ path, method: 'GET' }, handler);
    return { handler, promise };
  });
  await eventually(async () => held.length === 1);
  if (cancelled !== undefined) pool.cancel(cancelled.handler);
  held[0]?.end('{}');
  await first?.promise;
  await eventually(async () => held.length === 2);
  held[1]?.end('{}');
  await last?.promise;
  expect(received).toEqual(['/first', '/last']);
});

test('the pool prefers the most recently used connection that has been idle for 100 ms, then a new one, then the longest idle one', async () => {
  const ports: (number | undefined)[] = [];
  const held: ServerResponse[] = [];
  await using started = await startPool((req, res) => {
    ports.push(req.socket.remotePort);
    held.push(res);
  }, 3);
  const clock = jest.spyOn(performance, 'now');
  /** Sends a request at this time in ms. Resolves once the service has received the request. */
  const send = async (ms: number) => {
    clock.mockReturnValue(ms);
    const sent = held.length;
    const response = started.pool.request({ path: '/', method: 'GET' });
    await eventually(async () => held.length > sent);
    return { ended: response.then(async ({ body }) => body.dump()), res: held[sent] };
  };
  const end = async ({ ended, res }: Awaited<ReturnType<typeof send>>, ms: number) => {
    clock.mockReturnValue(ms);
    res?.end('{}');
    await ended;
    await turn(); // undici releases the connection in a microtask
  };
  try {
    const [first, second] = [await send(1_000), await send(1_000)];
    await end(first, 1_000);
    await end(second, 1_010);
    await end(await send(1_200), 1_200); // both connections have been idle for 100 ms
    await end(await send(1_250), 1_250); // only the first connection has been idle for 100 ms
    await end(await send(1_260), 1_260); // neither connection has, so the pool opens a third
    await end(await send(1_270), 1_270); // no connection has been idle for 100 ms
  } finally {
    clock.mockRestore();
  }
  const [a, b, , , c] = ports;
  expect(new Set(ports).size).toBe(3);
  expect(ports).toEqual([a, b, b, a, c, b]);
});
