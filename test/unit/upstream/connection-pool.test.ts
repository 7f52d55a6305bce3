import type { RequestListener, ServerResponse } from 'node:http';
import { expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { ConnectionPool } from '../../../src/upstream/connection-pool.ts';
import { eventually } from '../../support/eventually.ts';
import { startHttpServer } from '../../support/http-server.ts';

/** Starts a service, and a pool of one connection to it. */
async function startPool(respond: RequestListener) {
  const server = await startHttpServer(respond);
  const origin = `http://127.0.0.1:${server.port}`;
  const pool = new ConnectionPool({ origin, connections: 1, timeoutMs: 60_000 });
  return {
    pool,
    async [Symbol.asyncDispose]() {
      await pool.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

test('the pool keeps its connection after a request that undici refuses', async () => {
  await using started = await startPool((_req, res) => res.end('{}'));
  const statusOf = async (headers: string[]) => {
    const { statusCode, body } = await started.pool.request({ path: '/', method: 'GET', headers });
    await body.dump();
    return statusCode;
  };
  await expect(statusOf(['no name', 'x'])).rejects.toThrow('invalid header key');
  expect(await statusOf(['name', 'x'])).toBe(200);
});

test('the pool never sends a request that is cancelled while it waits', async () => {
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
