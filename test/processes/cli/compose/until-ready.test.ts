import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';

/** Starts a process that is not ready at first and counts the requests for /readyz. */
async function startProcess() {
  const state = { ready: false, requests: 0 };
  const server = createServer((req, res) => {
    state.requests += 1;
    res.writeHead(state.ready && req.url === '/readyz' ? 200 : 503).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const requested = async (times: number) => {
    while (state.requests < times) await once(server, 'request');
  };
  return {
    state,
    requested,
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Starts the wait; `over` resolves with its exit code and output. */
function wait(seconds: number, hosts: readonly string[]) {
  const child = execFile(process.execPath, ['dist/cli/compose/until-ready.js', String(seconds), ...hosts]);
  let output = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (output += text));
  const over = once(child, 'close').then(([code]: unknown[]) => ({ code, output }));
  return { child, over };
}

test('the wait ends once all processes are ready, and not before', async () => {
  await using one = await startProcess();
  await using other = await startProcess();
  const { child, over } = wait(60, [one.host, other.host]);
  one.state.ready = true;
  await Promise.all([one.requested(1), other.requested(3)]);
  expect(child.exitCode).toBeNull();
  other.state.ready = true;
  expect(await over).toEqual({ code: 0, output: '' });
});

test('the wait names the processes that are not ready in time, and ends with 0', async () => {
  await using one = await startProcess();
  await using other = await startProcess();
  one.state.ready = true;
  const closed = '127.0.0.1:1';
  expect(await wait(3, [one.host, other.host, closed]).over).toEqual({
    code: 0,
    output: `Not ready within 3 s: ${other.host}, ${closed}\n`,
  });
});
