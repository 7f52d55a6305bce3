import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const EXIT_WITH_PARENT = fileURLToPath(new URL('exit-with-parent.mjs', import.meta.url));

/**
 * Returns a command line that runs a file with Node and exits when this process exits.
 * @param {string} file path relative to the project folder
 * @param {readonly string[]} [nodeOptions]
 */
export function nodeCommand(file, nodeOptions = []) {
  return [process.execPath, ...nodeOptions, '--import', EXIT_WITH_PARENT, file];
}

/**
 * Starts a program with an IPC channel. The program inherits only PATH from the environment of this process.
 * @param {readonly string[]} command
 * @param {NodeJS.ProcessEnv} env
 * @param {{ stdout?: 'ignore' | 'inherit' | number, stderr?: 'ignore' | 'inherit' }} [output]
 */
export function startProcess([program = '', ...args], env, { stdout = 'inherit', stderr = 'inherit' } = {}) {
  const child = spawn(program, args, {
    cwd: ROOT,
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
    stdio: ['ignore', stdout, stderr, 'ipc'],
  });
  const exited = /** @type {Promise<[number | null, NodeJS.Signals | null]>} */ (once(child, 'exit'));
  return {
    pid: child.pid ?? 0,
    /** Resolves to the exit code and signal. */
    exited,
    /** Resolves to the next message from the process. Rejects if the process exits first. */
    async nextMessage() {
      const controller = new AbortController();
      const { signal } = controller;
      const ended = once(child, 'exit', { signal }).then(() => {
        throw new Error(`${args.join(' ')} exited before it sent a message.`);
      });
      ended.catch(() => {}); // rejects when the listener is aborted below
      try {
        const [message] = /** @type {unknown[]} */ (
          await Promise.race([once(child, 'message', { signal }), ended])
        );
        return message;
      } finally {
        controller.abort();
      }
    },
    /** Sends a message and resolves to the reply. */
    async ask() {
      const response = this.nextMessage();
      child.send('?', () => {}); // nextMessage rejects if the process has exited
      return response;
    },
    /** Disconnects the process, which then exits (exit-with-parent.mjs) and can still write a CPU profile. */
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
