import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';

/** The measured system runs on one core, and everything else runs on the other. */
export const MEASURED_CORE = 0;
export const OTHER_CORE = 1;

/**
 * Pins this process, and all processes that it starts, to one core. Throws if `taskset` (util-linux) is missing, or if the machine has a
 * single core.
 * @param {number} core
 */
export function pinSelf(core) {
  if (cpus().length < 2)
    throw new Error('This benchmark needs two cores: one for the measured system, one for everything else.');
  execFileSync('taskset', ['-a', '-c', '-p', String(core), String(process.pid)], { stdio: 'ignore' });
}

/**
 * Returns a command line that runs a program on the measured core. The program keeps the process id of `taskset`.
 * @param {readonly string[]} command
 */
export function onMeasuredCore(command) {
  return ['taskset', '-c', String(MEASURED_CORE), ...command];
}
