import './node-version.mjs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The project folder, with a trailing slash. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** An error that stops a launcher. The message is one line that tells the user what to do. */
export class LaunchError extends Error {}

/** Thrown if a signal ended a program that a launcher ran. The launcher runs its `finally` blocks and exits too. */
export class Interrupted extends Error {
  /** @param {NodeJS.Signals} signal */
  constructor(signal) {
    super(signal);
    this.exitCode = signalled(signal);
  }
}

/**
 * Runs a launcher. If the launcher throws a LaunchError, prints the message and exits with code 1.
 * @param {() => Promise<void>} task
 */
export async function launch(task) {
  try {
    await task();
  } catch (error) {
    if (error instanceof Interrupted) process.exit(error.exitCode);
    if (!(error instanceof LaunchError)) throw error;
    console.error(error.message);
    process.exit(1);
  }
}

const SIGNALS = /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP']);

/**
 * Runs a program, by default in the project folder, and forwards signals to it. Resolves to its exit code. If the program exits
 * after a forwarded signal, rejects with Interrupted, so that no later step starts.
 * @param {string} command
 * @param {readonly string[]} args
 * @param {Pick<import('node:child_process').SpawnOptions, 'cwd' | 'stdio' | 'env' | 'timeout' | 'killSignal'>} [options]
 * @returns {Promise<number>}
 */
export async function run(command, args, options = {}) {
  const child = spawn(command, args, { cwd: root, stdio: 'inherit', ...options });
  /** @type {NodeJS.Signals | undefined} */
  let received;
  /** @param {NodeJS.Signals} signal */
  const forward = (signal) => {
    received = signal;
    child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, forward);
  try {
    const [code, signal] = /** @type {[number | null, NodeJS.Signals | null]} */ (
      await once(child, 'exit').catch((/** @type {unknown} */ error) => {
        const { code: why } = /** @type {NodeJS.ErrnoException} */ (error);
        throw new LaunchError(`${command} could not be started (${why}).`);
      })
    );
    if (received !== undefined) throw new Interrupted(received);
    return code ?? signalled(signal ?? 'SIGKILL');
  } finally {
    for (const signal of SIGNALS) process.off(signal, forward);
  }
}

/**
 * Returns the exit code that shells report for a program terminated by a signal.
 * @param {NodeJS.Signals} signal
 */
function signalled(signal) {
  return 128 + constants.signals[signal];
}

/**
 * Runs a program from a package with the Node that runs this process.
 * @param {string} bin path relative to node_modules
 * @param {readonly string[]} args
 * @param {readonly string[]} [nodeOptions]
 */
export function runPackage(bin, args, nodeOptions = []) {
  return run(process.execPath, [...nodeOptions, `node_modules/${bin}`, ...args]);
}

/** Sends the output of installations and builds to stderr, because the launcher's stdout must not contain that output. */
export const toStderr = /** @type {import('node:child_process').StdioOptions} */ (['ignore', 2, 2]);
