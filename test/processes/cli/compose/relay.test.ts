import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { freePort } from '../../../support/fleet/free-port.ts';
import { startHttpServer } from '../../../support/http-server.ts';
import { startProgram } from '../../../support/programs.ts';

test('the relay forwards requests to the other host and returns its responses', async () => {
  await using server = await startHttpServer(
    (req, res) => void text(req).then((body) => res.end(`${req.url} ${body}`)),
  );
  const port = await freePort();
  const args = ['dist/cli/compose/relay.js', String(port), `localhost:${server.port}`];
  await using relay = await startProgram(process.execPath, args);
  await relay.waitForOutput(/forwards to/);
  const body = 'long '.repeat(100_000);
  const response = await fetch(`http://127.0.0.1:${port}/a`, { method: 'POST', body });
  expect(await response.text()).toBe(`/a ${body}`);
});

test('the relay refuses connections while the other host is down, and keeps running', async () => {
  const port = await freePort();
  const args = ['dist/cli/compose/relay.js', String(port), `localhost:${await freePort()}`];
  await using relay = await startProgram(process.execPath, args);
  await relay.waitForOutput(/forwards to/);
  await expect(fetch(`http://127.0.0.1:${port}/b`)).rejects.toThrow('fetch failed');
  expect(relay.child.exitCode).toBeNull();
});
