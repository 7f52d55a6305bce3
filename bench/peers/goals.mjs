import { median } from '../support/statistics.mjs';

/**
 * The measurements of a system, one per round.
 * @typedef {object} Measured
 * @property {import('./systems.mjs').Kind} kind
 * @property {number[]} cpuMs CPU time per request
 * @property {number[]} busy the fraction of its core that the system used
 * @property {number[]} addedMs the median latency that the system adds over (a) at light load
 */

/**
 * @typedef {object} Goal
 * @property {string} title
 * @property {string} system
 * @property {string} reference the system to compare with
 * @property {number} max
 * @property {'cpuMs' | 'addedMs'} field the field of `Measured` to compare; `cpuMs` is compared as a ratio
 */

/** @type {readonly Goal[]} */
const GOALS = [
  { title: 'CPU ÷ (a), request logs off', system: 'cloakroom', reference: 'a', max: 1.4, field: 'cpuMs' },
  {
    title: 'CPU ÷ (a), logs and metrics on',
    system: 'cloakroom-logs',
    reference: 'a',
    max: 1.6,
    field: 'cpuMs',
  },
  { title: 'CPU ÷ (b)', system: 'cloakroom', reference: 'b', max: 0.2, field: 'cpuMs' },
  { title: 'CPU ÷ (e)', system: 'cloakroom', reference: 'e', max: 1, field: 'cpuMs' },
  { title: 'ms added over (a)', system: 'cloakroom', reference: 'a', max: 0.3, field: 'addedMs' },
];

/**
 * Checks the medians of the measured systems against the goals.
 * @param {readonly Measured[]} measured
 */
export function checkGoals(measured) {
  const find = (/** @type {string} */ name) => measured.find(({ kind }) => kind.name === name);
  return GOALS.flatMap(({ title, system, reference, max, field }) => {
    const own = find(system);
    const other = find(reference);
    if (own === undefined || other === undefined) return [];
    const values =
      field === 'addedMs'
        ? own.addedMs
        : own.cpuMs.map((cpuMs, round) => cpuMs / (other.cpuMs[round] ?? NaN));
    const value = median(values);
    return [{ title, max, value, isMet: value <= max }];
  });
}
