import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const END_WITH_PARENT = fileURLToPath(new URL('end-with-parent.mjs', import.meta.url));

/**
 * Returns a command line that runs a file and ends with this process.
 * @param {string} file below the project's folder
 * @param {readonly string[]} [nodeOptions]
 */
export function nodeCommand(file, nodeOptions = []) {
  return [process.execPath, ...nodeOptions, '--import', END_WITH_PARENT, file];
}

/**
 * Starts a Node process that ends with this one. Its environment has only the PATH of ours.
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
    /** Resolves to its exit code and signal. */
    exited,
    /** Resolves to its next message; rejects if it ends before. */
    async nextMessage() {
      const over = new AbortController();
      const { signal } = over;
      const ended = once(child, 'exit', { signal }).then(() => {
        throw new Error(`${args.join(' ')} ended before it was ready.`);
      });
      ended.catch(() => {}); // aborted below
      try {
        const [message] = /** @type {unknown[]} */ (
          await Promise.race([once(child, 'message', { signal }), ended])
        );
        return message;
      } finally {
        over.abort();
      }
    },
    /** Requests a message and resolves to it. */
    async ask() {
      const response = this.nextMessage();
      child.send('?', () => {}); // nextMessage rejects if it has ended
      return response;
    },
    /** Lets it exit by itself, so that it can still write a profile. */
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
