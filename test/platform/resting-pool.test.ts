import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { RestingPool } from '../../src/platform/resting-pool.ts';

test('a request that undici finds invalid costs no connection', async () => {
  const server = createServer((_req, res) => res.end('{}')).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const pool = new RestingPool(origin, 1, { pipelining: 1 });
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
