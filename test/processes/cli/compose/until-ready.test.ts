import { expect, test } from '@jest/globals';
import { eventually } from '../../../support/eventually.ts';
import { startHttpServer } from '../../../support/http-server.ts';
import { startProgram } from '../../../support/programs.ts';

/** Starts a server that is not ready at first and counts the requests that it receives. */
async function startProcess() {
  const state = { ready: false, requests: 0 };
  const server = await startHttpServer((req, res) => {
    state.requests += 1;
    res.writeHead(state.ready && req.url === '/readyz' ? 200 : 503).end('{}');
  });
  return { ...server, state, host: `127.0.0.1:${server.port}` };
}

const startWait = async (seconds: number, ...hosts: readonly string[]) =>
  startProgram(process.execPath, ['dist/cli/compose/until-ready.js', String(seconds), ...hosts]);

test('the program waits until all processes are ready', async () => {
  await using one = await startProcess();
  await using other = await startProcess();
  await using wait = await startWait(60, one.host, other.host);
  one.state.ready = true;
  await eventually(async () => one.state.requests >= 1 && other.state.requests >= 3, 10_000);
  expect(wait.child.exitCode).toBeNull();
  other.state.ready = true;
  expect(await wait.waitForExit()).toEqual({ code: 0, output: '' });
});

test('the program names the processes that are not ready in time, and exits with 0', async () => {
  await using one = await startProcess();
  await using other = await startProcess();
  one.state.ready = true;
  const closed = '127.0.0.1:1';
  await using wait = await startWait(3, one.host, other.host, closed);
  const output = `Not ready within 3 s: ${other.host}, ${closed}\n`;
  expect(await wait.waitForExit()).toEqual({ code: 0, output });
});
