import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { freePort } from '../../../support/fleet/free-port.ts';
import { startProgram } from '../../../support/programs.ts';

test('what comes to the port goes on to the other host, and its answer comes back', async () => {
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
  const answer = await fetch(`http://127.0.0.1:${port}/a`, { method: 'POST', body });
  expect(await answer.text()).toBe(`/a ${body}`);

  server.closeAllConnections();
  server.close();
  await once(server, 'close');
  // And it goes on: who comes while nobody is there is only turned away.
  await expect(fetch(`http://127.0.0.1:${port}/b`)).rejects.toThrow('fetch failed');
  expect(relay.child.exitCode).toBeNull();
});
