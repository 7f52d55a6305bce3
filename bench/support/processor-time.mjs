import { readdirSync, readFileSync } from 'node:fs';

/** USER_HZ: what /proc/stat counts in. */
const MS_PER_TICK = 10;

/**
 * A process and all that it started.
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
 * CPU time of some processes so far, user and system, in ms. The scheduler counts it in nanoseconds for each thread;
 * /proc/PID/stat would give the same sum in whole ticks.
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
 * What a core did so far, in ms: for anybody, and for other machines on the same hardware (steal).
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
