import './node-version.mjs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';

/** The folder of the project, with a slash at its end. */
export const root = fileURLToPath(new URL('..', import.meta.url));

/** What keeps a launcher from its work, said in one line that is all the person needs. */
export class LaunchError extends Error {}

/** A signal came while a program ran: it has ended, and so do we, through every `finally` on the way. */
export class Interrupted extends Error {
  /** @param {NodeJS.Signals} signal */
  constructor(signal) {
    super(signal);
    this.exitCode = signalled(signal);
  }
}

/**
 * Runs what a launcher does. A LaunchError becomes its line and exit code 1.
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
 * Runs a program, in the project's folder unless told, and resolves with its exit code. A signal to us goes to it, and when it
 * has ended this rejects with Interrupted: what was to come after it is not begun.
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
  const pass = (signal) => {
    received = signal;
    child.kill(signal);
  };
  for (const signal of SIGNALS) process.on(signal, pass);
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
    for (const signal of SIGNALS) process.off(signal, pass);
  }
}

/**
 * The exit code that shells give to a program that a signal ended.
 * @param {NodeJS.Signals} signal
 */
function signalled(signal) {
  return 128 + constants.signals[signal];
}

/**
 * Runs a program of a package with this very Node.
 * @param {string} bin path below node_modules
 * @param {readonly string[]} args
 * @param {readonly string[]} [nodeOptions]
 */
export function runPackage(bin, args, nodeOptions = []) {
  return run(process.execPath, [...nodeOptions, `node_modules/${bin}`, ...args]);
}

/** For programs that only prepare: what they say is no output of ours. */
export const toStderr = /** @type {import('node:child_process').StdioOptions} */ (['ignore', 2, 2]);
