import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * The result of a scanner for a target. The table shows `result` if there are no findings.
 * @typedef {{ scanner: string, target: string, result: string, findings: readonly string[] }} ScannerResult
 */

/**
 * Runs a scanner and resolves to its output, whatever its exit code. Rejects if the scanner exceeds the time limit.
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
