import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as delay } from 'node:timers/promises';

/** The shell stops the program when the shell's standard input closes: on disposal, or when this process ends. */
const SUPERVISOR = `
  exec 3<&0
  "$@" </dev/null 3<&- 2>&1 &
  pid=$!
  { cat >/dev/null; kill "$pid" 2>/dev/null; } <&3 >/dev/null 2>&1 &
  exec 3<&-
  wait "$pid"
`;
const UP_WITHIN_MS = 30_000;

/**
 * An external program in its own process.
 * @typedef {object} ChildProgram
 * @property {() => string} printed Returns the program's output so far, on both streams.
 */

/**
 * Starts a program that ends when this process ends. Resolves once `isUp` resolves with true. Rejects if the program ends first.
 * @param {readonly [string, ...string[]]} command
 * @param {Readonly<Record<string, string>>} env
 * @param {() => Promise<boolean>} isUp
 * @returns {Promise<ChildProgram & AsyncDisposable>}
 */
export async function startChildProgram(command, env, isUp) {
  const supervisor = spawn('sh', ['-c', SUPERVISOR, `${command[0]}-supervisor`, ...command], {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['pipe', 'pipe', 'ignore'],
    detached: true,
  });
  let printed = '';
  supervisor.stdout.setEncoding('utf8').on('data', (/** @type {string} */ text) => (printed += text));
  const exited = once(supervisor, 'close');
  const stop = async () => {
    supervisor.stdin.end();
    await exited;
  };
  const giveUpAt = performance.now() + UP_WITHIN_MS;
  try {
    while (!(await isUp())) {
      if (supervisor.exitCode !== null) throw new Error(`${command[0]} did not start:\n${printed}`);
      if (performance.now() > giveUpAt) throw new Error(`${command[0]} did not start in time:\n${printed}`);
      await delay(20);
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { printed: () => printed, [Symbol.asyncDispose]: stop };
}
