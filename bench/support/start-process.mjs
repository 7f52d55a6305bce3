import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const END_WITH_PARENT = fileURLToPath(new URL('end-with-parent.mjs', import.meta.url));

/**
 * A command line for a file that is to end with us.
 * @param {string} file below the project's folder
 * @param {readonly string[]} [nodeOptions]
 */
export function nodeCommand(file, nodeOptions = []) {
  return [process.execPath, ...nodeOptions, '--import', END_WITH_PARENT, file];
}

/**
 * A process of Node that ends with us. The environment has nothing of ours but the PATH.
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
    /** Its exit code and the signal that ended it, once it has. */
    exited,
    /** The first thing that it tells us; rejects where it ends before. */
    async nextMessage() {
      const over = new AbortController();
      const { signal } = over;
      const ended = once(child, 'exit', { signal }).then(() => {
        throw new Error(`${args.join(' ')} ended before it was ready.`);
      });
      ended.catch(() => {}); // that nobody waits for it any more
      try {
        const [message] = /** @type {unknown[]} */ (
          await Promise.race([once(child, 'message', { signal }), ended])
        );
        return message;
      } finally {
        over.abort();
      }
    },
    /** Asks for what it tells next. */
    async ask() {
      const response = this.nextMessage();
      child.send('?', () => {}); // one that has just ended says so by itself
      return response;
    },
    /** Lets it end by itself: a profile that it was to write is written then. */
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return;
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}
