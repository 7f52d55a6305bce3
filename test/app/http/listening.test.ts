import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, test } from '@jest/globals';
import { bindPort } from '../../../src/http/listening.ts';

test('a client that connects before the server is up is served by it', async () => {
  await using bound = await bindPort('127.0.0.1', 0);
  const early = connect(bound.port, '127.0.0.1');
  early.write('GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n');
  await once(early, 'connect');
  const server = createServer((_req, res) => res.end('welcome'));
  await bound.handOver(server);
  expect(await text(early)).toMatch(/welcome$/);
  server.close();
});

test('a client that connects before a server that never starts is disconnected', async () => {
  const bound = await bindPort('127.0.0.1', 0);
  const early = connect(bound.port, '127.0.0.1');
  const closed = new Promise((resolve) => early.once('close', resolve));
  early.on('error', () => {}); // it may be a reset
  await once(early.resume(), 'connect');
  await bound[Symbol.asyncDispose]();
  await closed;
  expect(early.destroyed).toBe(true);
});

test('a bound port that no server took over is freed', async () => {
  const bound = await bindPort('127.0.0.1', 0);
  await bound[Symbol.asyncDispose]();
  await using again = await bindPort('127.0.0.1', bound.port);
  expect(again.port).toBe(bound.port);
});

test('an address of another machine is an error that names the settings to change', async () => {
  await expect(bindPort('192.0.2.7', 0, 'LOCAL_SERVICE_')).rejects.toThrow(
    "192.0.2.7:0 can't be listened on (EADDRNOTAVAIL). Set LOCAL_SERVICE_HOST or LOCAL_SERVICE_PORT otherwise.",
  );
});

test('a port in use is an error that names the setting to change', async () => {
  await using bound = await bindPort('127.0.0.1', 0);
  await expect(bindPort('127.0.0.1', bound.port, 'METRICS_')).rejects.toThrow(
    `127.0.0.1:${bound.port} is already in use. Free it, or set METRICS_PORT to another port.`,
  );
});
