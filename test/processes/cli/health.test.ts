import { expect, test } from '@jest/globals';
import { freePort } from '../../support/fleet/free-port.ts';
import { startHttpServer } from '../../support/http-server.ts';
import { startProgram } from '../../support/programs.ts';
import { startUnresponsivePort } from '../../support/unresponsive-port.ts';

/** Starts a server that responds to /healthz with this status, and to anything else with 404. */
const startHealth = async (status: number, host?: string) =>
  startHttpServer((req, res) => res.writeHead(req.url === '/healthz' ? status : 404).end(), host);

/** Runs the same program as the image's HEALTHCHECK. */
async function health(port: number, env: Readonly<Record<string, string>> = {}, ...args: string[]) {
  const variables = { PORT: String(port), ...env };
  await using program = await startProgram(process.execPath, ['dist/cli/health.js', ...args], variables);
  return await program.waitForExit();
}

test.each([
  ['127.0.0.1', {}],
  ['127.0.0.1', { HOST: '127.0.0.1' }],
  ['0.0.0.0', { HOST: '0.0.0.0' }],
  ['::1', { HOST: '::1' }],
  ['::1', { HOST: '::' }],
])('a process that listens on %s is reported as healthy with %j', async (host, env) => {
  await using server = await startHealth(200, host);
  expect(await health(server.port, env)).toEqual({ code: 0, output: '' });
});

test('the origin to check can be passed to the health check as an argument', async () => {
  await using other = await startHealth(200);
  expect((await health(1, {}, `http://127.0.0.1:${other.port}`)).code).toBe(0);
});

test('a process that responds with 503 is reported as unhealthy', async () => {
  await using server = await startHealth(503);
  const output = expect.stringContaining('/healthz responds with 503');
  expect(await health(server.port)).toEqual({ code: 1, output });
});

test('a port without a listener is reported as unhealthy', async () => {
  const output = expect.stringContaining('ECONNREFUSED');
  expect(await health(await freePort())).toEqual({ code: 1, output });
});

test('a hung process is reported as unhealthy after 4 s', async () => {
  await using hanging = await startUnresponsivePort();
  const startedAt = performance.now();
  expect((await health(hanging.port)).code).toBe(1);
  expect(performance.now() - startedAt).toBeGreaterThan(3_500);
});
