import { once } from 'node:events';
import { connect } from 'node:net';
import { startProgram } from './programs.ts';

/** A program that listens, prints its port and stops itself with SIGSTOP. */
const LISTENER = `
  require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    process.stdout.write('port ' + this.address().port + '\\n', () => process.kill(process.pid, 'SIGSTOP'));
  });
`;
/** The number of connections that the kernel completes before the program accepts any: one more than the backlog. */
const COMPLETED_BY_KERNEL = 2;

/** Opens a port on which connections are neither accepted nor refused. */
export async function startUnresponsivePort() {
  const program = await startProgram(process.execPath, ['-e', LISTENER]);
  const [, port = ''] = await program.waitForOutput(/port (\d+)/);
  const waiting = Array.from({ length: COMPLETED_BY_KERNEL }, () => connect(Number(port), '127.0.0.1'));
  await Promise.all(waiting.map(async (socket) => once(socket, 'connect')));
  return {
    port: Number(port),
    async [Symbol.asyncDispose]() {
      for (const socket of waiting) socket.on('error', () => {}).destroy();
      await program[Symbol.asyncDispose]();
    },
  };
}
