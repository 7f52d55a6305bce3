import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';
import { startUnresponsivePort } from '../../support/unresponsive-port.ts';
import { freePort } from '../../support/fleet/free-port.ts';

/** Starts a server that responds to /healthz with this status, and to anything else with 404. */
async function startHealth(status: number, host = '127.0.0.1') {
  const server = createServer((req, res) => res.writeHead(req.url === '/healthz' ? status : 404).end());
  server.listen(0, host);
  await once(server, 'listening');
  const stop = async () => void server.close();
  return { port: String((server.address() as AddressInfo).port), [Symbol.asyncDispose]: stop };
}

/** Runs what the HEALTHCHECK of the image runs. */
async function health(env: Readonly<Record<string, string>>, args: readonly string[] = []) {
  const child = execFile(process.execPath, ['dist/cli/health.js', ...args], { env });
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const [code] = (await once(child, 'close')) as [number | null];
  return { code, output };
}

test('a working process is healthy, on whatever address it listens', async () => {
  await using here = await startHealth(200);
  expect(await health({ PORT: here.port })).toEqual({ code: 0, output: '' });
  expect((await health({ PORT: here.port, HOST: '127.0.0.1' })).code).toBe(0);
  await using everywhere = await startHealth(200, '0.0.0.0');
  expect((await health({ PORT: everywhere.port, HOST: '0.0.0.0' })).code).toBe(0);
  await using ipv6 = await startHealth(200, '::1');
  expect((await health({ PORT: ipv6.port, HOST: '::1' })).code).toBe(0);
  expect((await health({ PORT: ipv6.port, HOST: '::' })).code).toBe(0);
});

test('an argument names another origin', async () => {
  await using other = await startHealth(200);
  expect((await health({ PORT: '1' }, [`http://127.0.0.1:${other.port}`])).code).toBe(0);
});

test('a process that responds with 503 is not healthy', async () => {
  await using here = await startHealth(503);
  const { code, output } = await health({ PORT: here.port });
  expect({ code, output }).toEqual({
    code: 1,
    output: expect.stringContaining('/healthz responds with 503'),
  });
});

test('a port without a listener is not healthy', async () => {
  const port = String(await freePort());
  const { code, output } = await health({ PORT: port });
  expect({ code, output }).toEqual({ code: 1, output: expect.stringContaining('ECONNREFUSED') });
});

test('a process that hangs is not healthy, after 4 s', async () => {
  await using deaf = await startUnresponsivePort();
  const began = performance.now();
  expect((await health({ PORT: String(deaf.port) })).code).toBe(1);
  expect(performance.now() - began).toBeGreaterThan(3_500);
});
