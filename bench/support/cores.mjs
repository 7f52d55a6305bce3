import { execFileSync } from 'node:child_process';
import { cpus } from 'node:os';

/** The core of the measured system, and the core of everything else. */
export const MEASURED_CORE = 0;
export const OTHER_CORE = 1;

/**
 * Pins this process, and all that it starts from here on, to one core. Throws if `taskset` (util-linux) is missing or the machine
 * has a single core.
 * @param {number} core
 */
export function pinSelf(core) {
  if (cpus().length < 2) throw new Error('This benchmark needs two cores: one is for the measured system.');
  execFileSync('taskset', ['-a', '-c', '-p', String(core), String(process.pid)], { stdio: 'ignore' });
}

/**
 * Returns a command line that runs a program on the measured core. `taskset` becomes the program, with the same process id.
 * @param {readonly string[]} command
 */
export function onMeasuredCore(command) {
  return ['taskset', '-c', String(MEASURED_CORE), ...command];
}
