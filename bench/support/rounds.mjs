import { MEASURED_CORE, OTHER_CORE } from './cores.mjs';
import { coreMs, processorMs } from './processor-time.mjs';

/** All systems take short turns, one after the other: what passes over the machine meets all of them. */
const TURN_MS = 150;
/** Others may have this share of either core during a turn, more of it disturbs. The kernel counts in 10 ms. */
const OTHERS_SHARE = 0.1;
/** Of the turns that are to be taken: so many more may be thrown out. */
const THROWN_AT_MOST = 1;

/**
 * @template S
 * @typedef {object} Plan
 * @property {readonly S[]} systems
 * @property {number} rounds
 * @property {number} seconds that each system is measured in each round
 * @property {(system: S) => readonly number[]} pids
 * @property {readonly number[]} helpers the processes on the other core that do the rest
 * @property {(system: S) => Promise<void>} prepare ends just before a turn begins
 * @property {(system: S, ms: number) => Promise<number>} work resolves with the number of calls
 * @property {() => Promise<void>} [afterRound]
 */
/** @typedef {{ ms: number, cpuMs: number, calls: number }} Measured */
/** @typedef {{ turns: number, thrown: number, keptDisturbed: number, othersShare: number }} Quality */

/**
 * Measures systems in turn, in another order each time. A turn that was disturbed is thrown out and taken again, a
 * bounded number of times, then even disturbed ones are kept, and counted.
 * @template S
 * @param {Plan<S>} plan
 * @returns {Promise<{ rounds: Map<S, Measured>[], quality: Quality }>}
 */
export async function measureRounds(plan) {
  const { systems } = plan;
  const turnsOfRound = Math.max(1, Math.round((plan.seconds * 1_000) / TURN_MS));
  const turns = plan.rounds * turnsOfRound * systems.length;
  const quality = { turns, thrown: 0, keptDisturbed: 0, othersShare: OTHERS_SHARE };
  const rounds = [];
  for (let round = 0; round < plan.rounds; round++) {
    /** @type {Map<S, Measured>} */
    const sums = new Map();
    for (let turn = 0; turn < turnsOfRound; turn++) {
      const first = (round * turnsOfRound + turn) % systems.length;
      for (const system of [...systems.slice(first), ...systems.slice(0, first)]) {
        let taken = await takeTurn(plan, system);
        while (taken.others > OTHERS_SHARE && quality.thrown < turns * THROWN_AT_MOST) {
          quality.thrown += 1;
          const again = await takeTurn(plan, system);
          if (again.others < taken.others) taken = again;
        }
        if (taken.others > OTHERS_SHARE) quality.keptDisturbed += 1;
        const { ms, cpuMs, calls } = sums.get(system) ?? { ms: 0, cpuMs: 0, calls: 0 };
        sums.set(system, { ms: ms + taken.ms, cpuMs: cpuMs + taken.cpuMs, calls: calls + taken.calls });
      }
    }
    rounds.push(sums);
    await plan.afterRound?.();
  }
  return { rounds, quality };
}

/** @param {Quality} quality */
export function tellQuality({ turns, thrown, keptDisturbed, othersShare }) {
  const told =
    `${thrown} turns were thrown out and taken again, since others had more than ${othersShare * 100} % of a core ` +
    `meanwhile (steal included). Of the ${turns} that count, ${keptDisturbed} were disturbed like that.`;
  return keptDisturbed * 10 > turns ? `${told} The machine is busy: run it again by itself.` : told;
}

/**
 * @template S
 * @param {Plan<S>} plan
 * @param {S} system
 */
async function takeTurn({ pids, helpers, prepare, work }, system) {
  await prepare(system);
  const read = () => ({
    at: performance.now(),
    measured: { ...coreMs(MEASURED_CORE), own: processorMs(pids(system)) },
    other: { ...coreMs(OTHER_CORE), own: processorMs(helpers) },
  });
  const before = read();
  const calls = await work(system, TURN_MS);
  const after = read();

  const ms = after.at - before.at;
  const othersOn = (/** @type {'measured' | 'other'} */ core) => {
    const grown = (/** @type {'busy' | 'stolen' | 'own'} */ what) => after[core][what] - before[core][what];
    return (grown('busy') - grown('own') + grown('stolen')) / ms;
  };
  return {
    ms,
    calls,
    cpuMs: after.measured.own - before.measured.own,
    others: Math.max(othersOn('measured'), othersOn('other')),
  };
}
