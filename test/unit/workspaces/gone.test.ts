import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { request } from 'node:http';
import { expect, test } from '@jest/globals';
import { createDeferred } from '../../../src/promises.ts';
import { goneSignal } from '../../../src/workspaces/gone.ts';

test.each(['before', 'after'])('Who goes away %s anybody asks is gone', async (when) => {
  const outcome = createDeferred<boolean>();
  const server = createServer((_req, res) => {
    if (when === 'after') goneSignal(res).addEventListener('abort', () => outcome.resolve(true));
    res.once('close', () => {
      if (when === 'before') outcome.resolve(goneSignal(res).aborted);
    });
    client.destroy();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = request({ port: (server.address() as AddressInfo).port, host: '127.0.0.1' });
  client.on('error', () => {});
  client.end();
  expect(await outcome.promise).toBe(true);
  server.close();
});
