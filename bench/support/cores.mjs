import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';

/** One core for what is measured, and the other for all that it takes to measure it. */
export const MEASURED_CORE = 0;
export const OTHER_CORE = 1;

/**
 * Keeps this process, and with it all that it starts from here on, on one core. Throws where `taskset` (util-linux) is
 * missing or the machine has a single core.
 * @param {number} core
 */
export function pinSelf(core) {
  if (cpus().length < 2) throw new Error('This benchmark needs two cores: one is for what is measured.');
  execFileSync('taskset', ['-a', '-c', '-p', String(core), String(process.pid)], { stdio: 'ignore' });
}

/**
 * A command line that runs a program on the core of what is measured. `taskset` becomes the program: same process id.
 * @param {readonly string[]} command
 */
export function onMeasuredCore(command) {
  return ['taskset', '-c', String(MEASURED_CORE), ...command];
}
