import { readdirSync, readFileSync } from 'node:fs';

/** Length of a tick, the unit of /proc/stat (USER_HZ). */
const MS_PER_TICK = 10;

/**
 * Returns the ids of a process and of all its descendants.
 * @param {number} pid
 * @returns {number[]}
 */
export function processTree(pid) {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(processTree)];
}

/**
 * Returns the CPU time (user and system) that processes have used, in ms. Adds up the nanoseconds of each thread, because
 * /proc/PID/stat has only whole ticks.
 * @param {readonly number[]} pids
 */
export function cpuMsOf(pids) {
  const nanoseconds = pids.flatMap((pid) =>
    readdirSync(`/proc/${pid}/task`).map((thread) => {
      const [ran = ''] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ', 1);
      return Number(ran);
    }),
  );
  return nanoseconds.reduce((sum, ran) => sum + ran, 0) / 1e6;
}

/**
 * Returns a core's busy time and steal time so far, in ms. Steal time is CPU time that other virtual machines on the host used.
 * @param {number} core
 */
export function coreCpuMs(core) {
  const line = readFileSync('/proc/stat', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`cpu${core} `));
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = (line ?? '')
    .split(' ')
    .slice(1)
    .map((ticks) => Number(ticks) * MS_PER_TICK);
  return { busy: user + nice + system + irq + softirq, stolen: steal };
}
