import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { startDeafPort } from '../../support/deaf-port.ts';
import { freePort } from '../../support/fleet/free-port.ts';

/** A server on a port of its own that answers /healthz with this status, and anything else with 404. */
async function startHealth(status: number, host = '127.0.0.1') {
  const server = createServer((req, res) => res.writeHead(req.url === '/healthz' ? status : 404).end());
  server.listen(0, host);
  await once(server, 'listening');
  const stop = async () => void server.close();
  return { port: String((server.address() as AddressInfo).port), [Symbol.asyncDispose]: stop };
}

/** Asks as the image's HEALTHCHECK does. */
async function health(env: Readonly<Record<string, string>>, args: readonly string[] = []) {
  const child = execFile(process.execPath, ['dist/cli/health.js', ...args], { env });
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (words += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, words };
}

test('a process that works is healthy, on whatever address of this machine it listens', async () => {
  await using here = await startHealth(200);
  expect(await health({ PORT: here.port })).toEqual({ code: 0, words: '' });
  expect((await health({ PORT: here.port, HOST: '127.0.0.1' })).code).toBe(0);
  await using everywhere = await startHealth(200, '0.0.0.0');
  expect((await health({ PORT: everywhere.port, HOST: '0.0.0.0' })).code).toBe(0);
  await using ipv6 = await startHealth(200, '::1');
  expect((await health({ PORT: ipv6.port, HOST: '::1' })).code).toBe(0);
  expect((await health({ PORT: ipv6.port, HOST: '::' })).code).toBe(0);
});

test('another origin can be asked', async () => {
  await using other = await startHealth(200);
  expect((await health({ PORT: '1' }, [`http://127.0.0.1:${other.port}`])).code).toBe(0);
});

test('a process that says it does not work is not healthy', async () => {
  await using here = await startHealth(503);
  const { code, words } = await health({ PORT: here.port });
  expect({ code, words }).toEqual({ code: 1, words: expect.stringContaining('/healthz answers 503') });
});

test('nobody there is not healthy', async () => {
  const port = String(await freePort());
  const { code, words } = await health({ PORT: port });
  expect({ code, words }).toEqual({ code: 1, words: expect.stringContaining('ECONNREFUSED') });
});

test('a process that stands still is not healthy, and is waited for no longer than the HEALTHCHECK waits', async () => {
  await using deaf = await startDeafPort();
  const began = performance.now();
  expect((await health({ PORT: String(deaf.port) })).code).toBe(1);
  expect(performance.now() - began).toBeGreaterThan(3_500);
});
