import { once } from 'node:events';
import { connect } from 'node:net';
import { startProgram } from './programs.ts';

/** A port that is open and takes nobody in: whoever connects is neither refused nor let in. */
export interface DeafPort extends AsyncDisposable {
  readonly port: number;
}

/** It listens, says where, and stops for ever. */
const LISTENER = `
  require('node:net').createServer().listen({ port: 0, host: '127.0.0.1', backlog: 1 }, function () {
    process.stdout.write('port ' + this.address().port + '\\n', () => process.kill(process.pid, 'SIGSTOP'));
  });
`;
/** For as long as it has room, the kernel lets them in by itself: one more than the backlog. */
const ROOM = 2;

export async function startDeafPort(): Promise<DeafPort> {
  const program = await startProgram(process.execPath, ['-e', LISTENER]);
  const [, port = ''] = await program.prints(/port (\d+)/);
  const waiting = Array.from({ length: ROOM }, () => connect(Number(port), '127.0.0.1'));
  await Promise.all(waiting.map(async (socket) => once(socket, 'connect')));
  return {
    port: Number(port),
    async [Symbol.asyncDispose]() {
      for (const socket of waiting) socket.on('error', () => {}).destroy();
      await program[Symbol.asyncDispose]();
    },
  };
}
