import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * What one scanner says of one target: `result` in a word or two, and what must not be.
 * @typedef {{ scanner: string, target: string, result: string, findings: readonly string[] }} Verdict
 */

/**
 * Runs a scanner to its end, within bounds, and gives what it printed. Rejects where it had to be ended.
 * @param {string} program
 * @param {readonly string[]} args
 * @param {{ seconds: number, env?: NodeJS.ProcessEnv }} options
 * @returns {Promise<string>}
 */
export async function runScanner(program, args, { seconds, env }) {
  const child = spawn(program, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    signal: AbortSignal.timeout(seconds * 1_000),
    ...(env && { env: { ...process.env, ...env } }),
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (/** @type {string} */ text) => (output += text));
  }
  await once(child, 'close');
  return output;
}
