import { MEASURED_CORE, OTHER_CORE } from './cores.mjs';
import { coreMs, processorMs } from './processor-time.mjs';

/** All systems take short turns, one after the other: what passes over the machine meets all of them. */
const TURN_MS = 300;
/**
 * Of work before each turn. While the others had theirs, a system's memory has left the caches of the processor: its calls
 * cost more for some 150 ms, those of a larger one by more (docs/performance.md).
 */
const LEAD_MS = 200;
/** Others may have this share of either core during a turn, more of it disturbs. The kernel counts in 10 ms. */
const OTHERS_SHARE = 0.1;
/** So much slower than at its best may memory be around a turn (memory-probe.mjs). */
const SLOWER_SHARE = 0.2;
/** In each round, of the clean turns that are wanted of each system: so many times as many are taken at most. */
const TAKEN_AT_MOST = 4;
/** In each round: with fewer clean turns of a system, disturbed ones count as well, those that were so least. */
const CLEAN_AT_LEAST = 3;

/**
 * @template S
 * @typedef {object} Plan
 * @property {readonly S[]} systems
 * @property {import('./memory-probe.mjs').MemoryProbe} probe
 * @property {number} seconds that each system is measured
 * @property {(system: S) => readonly number[]} pids
 * @property {readonly number[]} helpers the processes on the other core that do the rest
 * @property {() => Promise<void>} [prepare] before the lead of each turn
 * @property {(system: S, ms: number) => Promise<number>} work resolves with the number of calls
 * @property {number} firstTurn which system begins
 */
/** @typedef {{ ms: number, cpuMs: number, calls: number }} Measured */
/** @typedef {Measured & { disturbance: () => number }} Turn clean up to 1, by what has been seen until then */
/** @typedef {{ taken: number, counted: number, disturbed: number }} Quality */

/**
 * One round: measures systems in turn, beginning with another each time. Only clean turns count: each system takes turns until
 * it has as many as a round is to have, within bounds.
 * @template S
 * @param {Plan<S>} plan
 * @returns {Promise<{ measured: (Measured & { cpuMsPerCall: number })[], quality: Quality }>} measured: in the order of the systems
 */
export async function measureRound(plan) {
  const { systems, firstTurn } = plan;
  const wanted = Math.max(1, Math.round((plan.seconds * 1_000) / TURN_MS));
  // While the others warmed up each has rested for long, and its connections were closed: the first turn doesn't count.
  for (const system of systems) await takeTurn(plan, system);
  const turns = systems.map((system) => ({ system, taken: /** @type {Turn[]} */ ([]) }));
  for (let lap = 0; lap < wanted * TAKEN_AT_MOST; lap++) {
    const first = (firstTurn + lap) % systems.length;
    for (const { system, taken } of [...turns.slice(first), ...turns.slice(0, first)])
      if (taken.filter(isClean).length < wanted) taken.push(await takeTurn(plan, system));
  }
  const quality = { taken: 0, counted: 0, disturbed: 0 };
  const measured = turns.map(({ taken }) => {
    const counted = thoseThatCount(taken);
    quality.taken += taken.length;
    quality.counted += counted.length;
    quality.disturbed += counted.filter((turn) => !isClean(turn)).length;
    const sum = (/** @type {keyof Measured} */ what) => counted.reduce((all, turn) => all + turn[what], 0);
    const [ms, cpuMs, calls] = [sum('ms'), sum('cpuMs'), sum('calls')];
    return { ms, cpuMs, calls, cpuMsPerCall: cpuMs / calls };
  });
  return { measured, quality };
}

/** @param {Turn} turn */
function isClean({ disturbance }) {
  return disturbance() <= 1;
}

/** @param {readonly Turn[]} taken */
function thoseThatCount(taken) {
  const clean = taken.filter(isClean);
  if (clean.length >= CLEAN_AT_LEAST) return clean;
  return taken.toSorted((one, other) => one.disturbance() - other.disturbance()).slice(0, CLEAN_AT_LEAST);
}

/**
 * @param {readonly Quality[]} qualities
 * @returns {Quality}
 */
export function sumUp(qualities) {
  const sum = (/** @type {keyof Quality} */ what) =>
    qualities.reduce((all, quality) => all + quality[what], 0);
  return { taken: sum('taken'), counted: sum('counted'), disturbed: sum('disturbed') };
}

/**
 * @param {Quality} quality
 * @param {number} bestMs of the memory probe
 */
export function tellQuality({ taken, counted, disturbed }, bestMs) {
  const told =
    `${taken} turns were taken; ${taken - counted} of them were thrown out, since others had more than ` +
    `${OTHERS_SHARE * 100} % of a core meanwhile (steal included), or allocating took ${SLOWER_SHARE * 100} % longer than at ` +
    `its best (${bestMs.toFixed(1)} ms for a fixed piece of work) right before or after. Of the ${counted} that count, ${disturbed} were disturbed like that.`;
  return disturbed * 10 > counted ? `${told} The machine is busy: run it again by itself.` : told;
}

/**
 * @template S
 * @param {Plan<S>} plan
 * @param {S} system
 * @returns {Promise<Turn>}
 */
async function takeTurn({ pids, helpers, prepare, probe, work }, system) {
  await prepare?.();
  const lookBefore = await probe.look();
  await work(system, LEAD_MS);
  const read = () => ({
    at: performance.now(),
    measured: { ...coreMs(MEASURED_CORE), own: processorMs(pids(system)) },
    other: { ...coreMs(OTHER_CORE), own: processorMs(helpers) },
  });
  const before = read();
  const calls = await work(system, TURN_MS);
  const after = read();
  const lookAfter = await probe.look();

  const ms = after.at - before.at;
  const othersOn = (/** @type {'measured' | 'other'} */ core) => {
    const grown = (/** @type {'busy' | 'stolen' | 'own'} */ what) => after[core][what] - before[core][what];
    return (grown('busy') - grown('own') + grown('stolen')) / ms;
  };
  const others = Math.max(othersOn('measured'), othersOn('other'));
  return {
    ms,
    calls,
    cpuMs: after.measured.own - before.measured.own,
    disturbance: () => Math.max(others / OTHERS_SHARE, probe.slowdown(lookBefore, lookAfter) / SLOWER_SHARE),
  };
}
