import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect } from 'node:net';
import { expect, test } from '@jest/globals';
import { HttpServer } from '../../../src/http/http-server.ts';
import { bindPort } from '../../../src/http/listening.ts';
import { createLog } from '../../../src/observability/logger.ts';

test('if the server never starts, a client that connected beforehand is disconnected', async () => {
  const bound = await bindPort('127.0.0.1', 0);
  const early = connect(bound.port, '127.0.0.1');
  const closed = new Promise((resolve) => early.once('close', resolve));
  early.on('error', () => {}); // the close may be a reset
  await once(early.resume(), 'connect');
  await bound[Symbol.asyncDispose]();
  await closed;
  expect(early.destroyed).toBe(true);
});

test('a server keeps listening after it fails to accept a connection', async () => {
  const lines: string[] = [];
  const log = createLog('info', { write: (line) => lines.push(line) });
  const bound = await bindPort('127.0.0.1', 0);
  const http = new HttpServer({ log, lingerMs: 1_000, unreadMs: 1_000 });
  await http.listen(bound, (_req, res) => void res.end('welcome'));
  http.server.emit('error', new Error('accept EMFILE')); // Node emits this error
  expect(lines).toEqual([expect.stringMatching(/"level":"warn".*"msg":"connection not accepted"/)]);
  expect(await (await fetch(bound.url)).text()).toBe('welcome');
  await http.drain(1_000);

  const metrics = createServer();
  await using other = await bindPort('127.0.0.1', 0);
  await other.handOver(metrics);
  expect(metrics.emit('error', new Error('accept EMFILE'))).toBe(true);
  metrics.close();
});

test('a bound port is freed if no server takes it over', async () => {
  const bound = await bindPort('127.0.0.1', 0);
  await bound[Symbol.asyncDispose]();
  await using again = await bindPort('127.0.0.1', bound.port);
  expect(again.port).toBe(bound.port);
});

test('binding to the address of another machine throws an error that names the settings to change', async () => {
  await expect(bindPort('192.0.2.7', 0, 'LOCAL_SERVICE_')).rejects.toThrow(
    "192.0.2.7:0 can't be bound (EADDRNOTAVAIL). Change LOCAL_SERVICE_HOST or LOCAL_SERVICE_PORT.",
  );
});

test('binding to a port in use throws an error that names the setting to change', async () => {
  await using bound = await bindPort('127.0.0.1', 0);
  await expect(bindPort('127.0.0.1', bound.port, 'METRICS_')).rejects.toThrow(
    `127.0.0.1:${bound.port} is already in use. Free it, or set METRICS_PORT to another port.`,
  );
});
