import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { freePort } from '../../../support/fleet/free-port.ts';
import { startProgram } from '../../../support/programs.ts';

test('the relay forwards requests to the other host and returns its responses', async () => {
  const server = createServer((req, res) => void text(req).then((body) => res.end(`${req.url} ${body}`)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = await freePort();
  const target = `localhost:${(server.address() as AddressInfo).port}`;
  await using relay = await startProgram(process.execPath, [
    'dist/cli/compose/relay.js',
    String(port),
    target,
  ]);
  await relay.prints(/leads to/);
  const body = 'long '.repeat(100_000);
  const response = await fetch(`http://127.0.0.1:${port}/a`, { method: 'POST', body });
  expect(await response.text()).toBe(`/a ${body}`);

  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  // While the other host is away, the relay refuses connections and keeps running.
  await expect(fetch(`http://127.0.0.1:${port}/b`)).rejects.toThrow('fetch failed');
  expect(relay.child.exitCode).toBeNull();
});
