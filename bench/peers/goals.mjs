import { median } from '../support/statistics.mjs';

/**
 * The measurements of a system, by round.
 * @typedef {object} Measured
 * @property {import('./systems.mjs').Kind} kind
 * @property {number[]} cpuMs for one request
 * @property {number[]} busy the share of its core that it used
 * @property {number[]} addedMs at light load, to the median time of a request over (a)
 */

/**
 * @typedef {object} Goal
 * @property {string} what
 * @property {string} of the system with the goal
 * @property {string} than the system to compare with
 * @property {number} most
 * @property {'cpuMs' | 'addedMs'} by the ratio of `cpuMs`, or `addedMs` itself
 */

/** @type {readonly Goal[]} */
const GOALS = [
  { what: 'CPU per request ÷ (a), request logs off', of: 'cloakroom', than: 'a', most: 1.4, by: 'cpuMs' },
  {
    what: 'CPU per request ÷ (a), with logs and metrics',
    of: 'cloakroom-logs',
    than: 'a',
    most: 1.6,
    by: 'cpuMs',
  },
  { what: 'CPU per request ÷ (b)', of: 'cloakroom', than: 'b', most: 0.2, by: 'cpuMs' },
  { what: 'CPU per request ÷ (e)', of: 'cloakroom', than: 'e', most: 1, by: 'cpuMs' },
  { what: 'ms added at light load over (a)', of: 'cloakroom', than: 'a', most: 0.3, by: 'addedMs' },
];

/**
 * Judges the goals whose systems were measured, by the median of the rounds.
 * @param {readonly Measured[]} measured
 */
export function judgeGoals(measured) {
  const find = (/** @type {string} */ name) => measured.find(({ kind }) => kind.name === name);
  return GOALS.flatMap(({ what, of, than, most, by }) => {
    const own = find(of);
    const other = find(than);
    if (own === undefined || other === undefined) return [];
    const values =
      by === 'addedMs' ? own.addedMs : own.cpuMs.map((cpuMs, round) => cpuMs / (other.cpuMs[round] ?? NaN));
    const value = median(values);
    return [{ what, most, value, isMet: value <= most }];
  });
}
