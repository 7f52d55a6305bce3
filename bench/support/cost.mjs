import { setTimeout as delay } from 'node:timers/promises';
import { figure } from './table.mjs';

/** Commands of the benchmark itself and of new connections. */
const NOT_COUNTED = /^cmdstat_(?:info|config|ping|hello|select|client|auth|quit)/;

/** @typedef {Awaited<ReturnType<typeof import('./deployment.mjs').startTestApp>>} TestApp */
/**
 * @typedef {object} Cost
 * @property {Map<string, number>} commands of Redis, including those inside scripts
 * @property {number} redisMs CPU time
 * @property {number} processMs CPU time of all processes of Cloakroom
 * @property {number} written growth of the append-only file in bytes
 */

/**
 * Creates sessions whose access token expires in this time. Resolves to their `Cookie` headers.
 * @param {TestApp} testApp
 * @param {number} count
 * @param {number} [leftSeconds]
 */
export async function createSessions(testApp, count, leftSeconds) {
  const cookies = [];
  while (cookies.length < count) cookies.push(await testApp.createSession(leftSeconds));
  return cookies;
}

/**
 * Resolves to what Redis and Cloakroom spend on some work.
 * @param {TestApp} testApp
 * @param {() => Promise<void>} work
 * @returns {Promise<Cost>}
 */
export async function costOf({ store, processes }, work) {
  const read = async () => {
    const [cpu, persistence] = await Promise.all([store.info('cpu'), store.info('persistence')]);
    return {
      redisMs: 1_000 * (Number(cpu.get('used_cpu_user')) + Number(cpu.get('used_cpu_sys'))),
      written: Number(persistence.get('aof_current_size') ?? 0),
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
    written: after.written - before.written,
  };
}

/**
 * Returns the rows of a table with the commands per unit of work.
 * @param {Map<string, number>} commands
 * @param {number} per
 * @param {Map<string, number>} [without] the commands of the same work without what is measured
 */
export function toCommandRows(commands, per, without = new Map()) {
  const counts = [...commands].map(
    ([name, count]) => /** @type {const} */ ([name, count - (without.get(name) ?? 0)]),
  );
  const rows = counts.filter(([, count]) => count > 0).toSorted(([, a], [, b]) => b - a);
  const all = rows.reduce((sum, [, count]) => sum + count, 0);
  return [
    ['command', 'count'],
    ...rows.map(([name, count]) => [name.toUpperCase(), figure(count / per)]),
    ['all, including those inside scripts', figure(all / per)],
  ];
}

/**
 * Resolves once Redis has finished rewriting its append-only file.
 * @param {TestApp} testApp
 */
export async function settled({ store }) {
  for (;;) {
    const persistence = await store.info('persistence');
    const isBusy = ['aof_rewrite_in_progress', 'aof_rewrite_scheduled'].some(
      (name) => persistence.get(name) !== '0',
    );
    if (!isBusy) return;
    await delay(100);
  }
}
