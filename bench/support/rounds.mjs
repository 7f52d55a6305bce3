import { coreMs, processorMs } from './processor-time.mjs';
import { MEASURED_CORE, OTHER_CORE } from './cores.mjs';

/** Others may have this share of either core while something is measured: more of it disturbs. */
const OTHERS_SHARE = 0.05;
/** Of the rounds that were asked for: so many disturbed ones are repeated before the rest is taken as it is. */
const REPEATED = 3;

/**
 * @template S
 * @typedef {object} Plan
 * @property {readonly S[]} systems
 * @property {number} rounds
 * @property {number} calls in each round, for each system
 * @property {(system: S) => readonly number[]} pids
 * @property {readonly number[]} helpers processes on the other core
 * @property {(system: S, calls: number) => Promise<void>} work
 */
/** @typedef {{ cpuMs: number, ms: number, others: number }} Measured per call; busy: share of its core that it used */

/**
 * Measures systems in turn, in another order each round. What was disturbed is measured again, within bounds.
 * @template S
 * @param {Plan<S>} plan
 * @returns {Promise<{ byRound: Map<S, Measured>[], thrown: number, disturbed: number }>}
 */
export async function measureRounds(plan) {
  const byRound = [];
  let thrown = 0;
  let disturbed = 0;
  for (let round = 0; round < plan.rounds; round++) {
    /** @type {Map<S, Measured>} */
    const measured = new Map();
    const first = round % plan.systems.length;
    for (const system of [...plan.systems.slice(first), ...plan.systems.slice(0, first)]) {
      let result = await measureOnce(plan, system);
      while (result.others > OTHERS_SHARE && thrown < plan.rounds * plan.systems.length * REPEATED) {
        thrown += 1;
        result = await measureOnce(plan, system);
      }
      if (result.others > OTHERS_SHARE) disturbed += 1;
      measured.set(system, result);
    }
    byRound.push(measured);
  }
  return { byRound, thrown, disturbed };
}

/**
 * @template S
 * @param {Plan<S>} plan
 * @param {S} system
 * @returns {Promise<Measured>}
 */
async function measureOnce({ calls, pids, helpers, work }, system) {
  const read = () => ({
    at: performance.now(),
    own: processorMs(pids(system)),
    help: processorMs(helpers),
    core: coreMs(MEASURED_CORE),
    other: coreMs(OTHER_CORE),
  });
  const before = read();
  await work(system, calls);
  const after = read();
  const ms = after.at - before.at;
  const cpuMs = after.own - before.own;
  const share = (/** @type {'core' | 'other'} */ core, /** @type {number} */ ours) =>
    (after[core].busy - before[core].busy - ours + (after[core].stolen - before[core].stolen)) / ms;
  if (process.env["DIAG"]) console.log(calls/ms*1000|0, "calls/s; cpu us", (cpuMs/calls*1000).toFixed(1), "help us", ((after.help-before.help)/calls*1000).toFixed(1), "core0", ((after.core.busy-before.core.busy)/ms).toFixed(3), "st", ((after.core.stolen-before.core.stolen)/ms).toFixed(3), "own", (cpuMs/ms).toFixed(3), "core1", ((after.other.busy-before.other.busy)/ms).toFixed(3), "help", ((after.help-before.help)/ms).toFixed(3));
  return {
    cpuMs: cpuMs / calls,
    ms,
    others: Math.max(share('core', cpuMs), share('other', after.help - before.help)),
  };
}
