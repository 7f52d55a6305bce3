import { setTimeout as delay } from 'node:timers/promises';
import { formatNumber } from './table.mjs';

/** Commands that are not counted, because the benchmark or a new connection sends them. */
const NOT_COUNTED = /^cmdstat_(?:info|config|ping|hello|select|client|auth|quit)/;

/** @typedef {Awaited<ReturnType<typeof import('./deployment.mjs').startTestApp>>} TestApp */
/**
 * @typedef {object} Cost
 * @property {Map<string, number>} commands the number of each Redis command, including commands inside scripts
 * @property {number} redisMs CPU time of Redis
 * @property {number} processMs CPU time of all Cloakroom processes
 * @property {number} writtenBytes growth of the append-only file
 */

/**
 * Creates sessions. Resolves to the sessions' `Cookie` headers.
 * @param {TestApp} testApp
 * @param {number} count
 * @param {number} [leftSeconds] until the access tokens expire
 */
export async function createSessions(testApp, count, leftSeconds) {
  const cookies = [];
  while (cookies.length < count) cookies.push(await testApp.createSession(leftSeconds));
  return cookies;
}

/**
 * Measures the cost of `work` in Redis and Cloakroom.
 * @param {TestApp} testApp
 * @param {() => Promise<void>} work
 * @returns {Promise<Cost>}
 */
export async function costOf({ store, processes }, work) {
  const read = async () => {
    const [cpu, persistence] = await Promise.all([store.info('cpu'), store.info('persistence')]);
    return {
      redisMs: 1_000 * (Number(cpu.get('used_cpu_user')) + Number(cpu.get('used_cpu_sys'))),
      writtenBytes: Number(persistence.get('aof_current_size') ?? 0),
      processMs: processes.reduce((sum, { cpuMs }) => sum + cpuMs(), 0),
    };
  };
  await store.redis.config('RESETSTAT');
  const before = await read();
  await work();
  const after = await read();
  const stats = [...(await store.info('commandstats'))].filter(
    ([name]) => name.startsWith('cmdstat_') && !NOT_COUNTED.test(name),
  );
  const counts = stats.map(
    ([name, stat]) =>
      /** @type {[string, number]} */ ([
        name.slice('cmdstat_'.length),
        Number(/calls=(\d+)/.exec(stat)?.[1]),
      ]),
  );
  return {
    commands: new Map(counts),
    redisMs: after.redisMs - before.redisMs,
    processMs: after.processMs - before.processMs,
    writtenBytes: after.writtenBytes - before.writtenBytes,
  };
}

/**
 * Returns table rows with the number of commands per unit of work.
 * @param {Map<string, number>} commands
 * @param {number} units
 * @param {Map<string, number>} [baseline] commands to subtract, from the same work without the measured part
 */
export function toCommandRows(commands, units, baseline = new Map()) {
  const counts = [...commands].map(
    ([name, count]) => /** @type {const} */ ([name, count - (baseline.get(name) ?? 0)]),
  );
  const rows = counts.filter(([, count]) => count > 0).toSorted(([, a], [, b]) => b - a);
  const total = rows.reduce((sum, [, count]) => sum + count, 0);
  return [
    ['command', 'count'],
    ...rows.map(([name, count]) => [name.toUpperCase(), formatNumber(count / units)]),
    ['total, including commands inside scripts', formatNumber(total / units)],
  ];
}

/**
 * Resolves once Redis has finished rewriting its append-only file.
 * @param {TestApp} testApp
 */
export async function waitForAofRewrite({ store }) {
  for (;;) {
    const persistence = await store.info('persistence');
    const isBusy = ['aof_rewrite_in_progress', 'aof_rewrite_scheduled'].some(
      (name) => persistence.get(name) !== '0',
    );
    if (!isBusy) return;
    await delay(100);
  }
}
