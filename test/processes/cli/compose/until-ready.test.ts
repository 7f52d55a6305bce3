import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test } from '@jest/globals';

/** Says whether it is ready, which it is not at first, and counts who asks. */
async function startProcess() {
  const state = { ready: false, asked: 0 };
  const server = createServer((req, res) => {
    state.asked += 1;
    res.writeHead(state.ready && req.url === '/readyz' ? 200 : 503).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const asked = async (times: number) => {
    while (state.asked < times) await once(server, 'request');
  };
  return {
    state,
    asked,
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Waits for them; `over` resolves with how it ended. */
function wait(seconds: number, hosts: readonly string[]) {
  const child = execFile(process.execPath, ['dist/cli/compose/until-ready.js', String(seconds), ...hosts]);
  let words = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (words += text));
  const over = once(child, 'close').then(([code]: unknown[]) => ({ code, words }));
  return { child, over };
}

test('it ends once all of them are ready, and not before', async () => {
  await using one = await startProcess();
  await using other = await startProcess();
  const { child, over } = wait(60, [one.host, other.host]);
  one.state.ready = true;
  await Promise.all([one.asked(1), other.asked(3)]);
  expect(child.exitCode).toBeNull();
  other.state.ready = true;
  expect(await over).toEqual({ code: 0, words: '' });
});

test('of one that is not ready in time it says so, and goes out of the way', async () => {
  await using one = await startProcess();
  await using other = await startProcess();
  one.state.ready = true;
  const nobody = '127.0.0.1:1';
  expect(await wait(3, [one.host, other.host, nobody]).over).toEqual({
    code: 0,
    words: `Not ready within 3 s: ${other.host}, ${nobody}\n`,
  });
});
