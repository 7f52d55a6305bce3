import { readdirSync, readFileSync } from 'node:fs';

/** The unit of /proc/stat (USER_HZ). */
const MS_PER_TICK = 10;

/**
 * Returns the ids of a process and of all its descendants.
 * @param {number} pid
 * @returns {number[]}
 */
export function familyOf(pid) {
  const children = readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
    readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean).map(Number),
  );
  return [pid, ...children.flatMap(familyOf)];
}

/**
 * Returns the CPU time of processes so far, user and system, in ms. The scheduler counts it in nanoseconds for each thread;
 * /proc/PID/stat has the same sum in whole ticks.
 * @param {readonly number[]} pids
 */
export function processorMs(pids) {
  const nanoseconds = pids.flatMap((pid) =>
    readdirSync(`/proc/${pid}/task`).map((thread) => {
      const [ran = ''] = readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8').split(' ', 1);
      return Number(ran);
    }),
  );
  return nanoseconds.reduce((sum, ran) => sum + ran, 0) / 1e6;
}

/**
 * Returns the busy time of a core so far, in ms, and the time that other machines on the same hardware took (steal).
 * @param {number} core
 */
export function coreMs(core) {
  const line = readFileSync('/proc/stat', 'utf8')
    .split('\n')
    .find((each) => each.startsWith(`cpu${core} `));
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = (line ?? '')
    .split(' ')
    .slice(1)
    .map((ticks) => Number(ticks) * MS_PER_TICK);
  return { busy: user + nice + system + irq + softirq, stolen: steal };
}
