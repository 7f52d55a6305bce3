import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { ConnectionPool } from '../../../src/upstream/connection-pool.ts';

test('a request that undici finds invalid costs no connection', async () => {
  const server = createServer((_req, res) => res.end('{}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pool = new ConnectionPool({ origin, connections: 1, timeoutMs: 60_000 });
  const ask = async (headers: string[]) => {
    const { statusCode, body } = await pool.request({ path: '/', method: 'GET', headers });
    await body.dump();
    return statusCode;
  };
  await expect(ask(['no name', 'x'])).rejects.toThrow('invalid header key');
  expect(await ask(['name', 'x'])).toBe(200);
  await pool.destroy();
  server.close();
});

test('a call that is forgotten while it waits is never sent', async () => {
  const asked: string[] = [];
  const held: ServerResponse[] = [];
  const server = createServer((req, res) => {
    asked.push(req.url ?? '');
    held.push(res);
    server.emit('asked');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pool = new ConnectionPool({ origin, connections: 1, timeoutMs: 60_000 });
  const ask = (path: string) => {
    const { promise, resolve } = createDeferred<void>();
    const handler = {
      onRequestStart: () => {},
      onResponseEnd: () => resolve(),
      onResponseError: () => resolve(),
    };
    pool.dispatch({ path, method: 'GET' }, handler);
    return { handler, promise };
  };
  const [first, forgotten, last] = ['/first', '/forgotten', '/last'].map(ask);
  if (held.length === 0) await once(server, 'asked');
  if (forgotten !== undefined) pool.cancel(forgotten.handler);
  held[0]?.end('{}');
  await first?.promise;
  if (held.length < 2) await once(server, 'asked');
  held[1]?.end('{}');
  await last?.promise;
  expect(asked).toEqual(['/first', '/last']);
  await pool.destroy();
  server.close();
});
