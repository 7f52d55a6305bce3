import { MEASURED_CORE, OTHER_CORE } from './cores.mjs';
import { coreMs, processorMs } from './processor-time.mjs';

/** Systems take short turns, one after the other, so that a disturbance of the machine meets all of them. */
const TURN_MS = 300;
/**
 * Work before each turn that does not count. During the turns of the others, a system's memory leaves the caches of the processor:
 * its requests cost more for some 150 ms (docs/performance.md).
 */
const LEAD_MS = 200;
/** The share of either core that other processes may have during a clean turn. The kernel counts in steps of 10 ms. */
const OTHERS_SHARE = 0.1;
/** How much slower than at its best memory may be around a clean turn (memory-probe.mjs). */
const SLOWER_SHARE = 0.2;
/** The most turns that a system takes in a round, as a multiple of the clean turns that it needs. */
const TAKEN_AT_MOST = 4;
/** The fewest turns that count in a round. With fewer clean ones, the least disturbed turns count as well. */
const CLEAN_AT_LEAST = 3;

/**
 * @template S
 * @typedef {object} Plan
 * @property {readonly S[]} systems
 * @property {import('./memory-probe.mjs').MemoryProbe} probe
 * @property {number} seconds of measured time of each system
 * @property {(system: S) => readonly number[]} pids
 * @property {readonly number[]} helpers the benchmark's own processes on the other core
 * @property {() => Promise<void>} [prepare] before the lead of each turn
 * @property {(system: S, ms: number) => Promise<number>} work resolves with the number of requests
 * @property {number} firstTurn the index of the system that begins
 */
/** @typedef {{ ms: number, cpuMs: number, requests: number }} Measured */
/** @typedef {Measured & { disturbance: () => number }} Turn clean up to a disturbance of 1, as far as is known by then */
/** @typedef {{ taken: number, counted: number, disturbed: number }} Quality */

/**
 * Measures the systems for one round, in turns. Each lap begins with another system, and every second lap is in reverse order: the
 * system before it makes a turn slower or faster. Only clean turns count: a system takes turns until it has enough of them, up to a
 * limit.
 * @template S
 * @param {Plan<S>} plan
 * @returns {Promise<{ measured: (Measured & { cpuMsPerRequest: number })[], quality: Quality }>} measured: in the order of the systems
 */
export async function measureRound(plan) {
  const { systems, firstTurn } = plan;
  const wanted = Math.max(1, Math.round((plan.seconds * 1_000) / TURN_MS));
  // Each system was idle while the others warmed up, and its connections were closed. The first turn doesn't count.
  for (const system of systems) await takeTurn(plan, system);
  const turns = systems.map((system) => ({ system, taken: /** @type {Turn[]} */ ([]) }));
  for (let lap = 0; lap < wanted * TAKEN_AT_MOST; lap++) {
    const first = (firstTurn + lap) % systems.length;
    const order = [...turns.slice(first), ...turns.slice(0, first)];
    for (const { system, taken } of lap % 2 === 0 ? order : order.toReversed())
      if (taken.filter(isClean).length < wanted) taken.push(await takeTurn(plan, system));
  }
  const quality = { taken: 0, counted: 0, disturbed: 0 };
  const measured = turns.map(({ taken }) => {
    const counted = countedOf(taken);
    quality.taken += taken.length;
    quality.counted += counted.length;
    quality.disturbed += counted.filter((turn) => !isClean(turn)).length;
    const sum = (/** @type {keyof Measured} */ what) => counted.reduce((all, turn) => all + turn[what], 0);
    const [ms, cpuMs, requests] = [sum('ms'), sum('cpuMs'), sum('requests')];
    return { ms, cpuMs, requests, cpuMsPerRequest: cpuMs / requests };
  });
  return { measured, quality };
}

/**
 * Runs the rounds of a benchmark, then prints its report and how clean the turns were. Stops what the benchmark has started.
 * @param {object} benchmark
 * @param {number} benchmark.rounds
 * @param {(round: number) => Promise<readonly Quality[]>} benchmark.runRound
 * @param {() => void} benchmark.report
 * @param {import('./memory-probe.mjs').MemoryProbe} benchmark.probe
 * @param {readonly { stop(): Promise<unknown> }[]} benchmark.started
 */
export async function runRounds({ rounds, runRound, report, probe, started }) {
  /** @type {Quality[]} */
  const qualities = [];
  try {
    for (let round = 0; round < rounds; round++) qualities.push(...(await runRound(round)));
    report();
    console.log(`\n${describeQuality(sumUp(qualities), probe.bestMs())}`);
  } finally {
    for (const each of [probe, ...started]) await each.stop();
  }
}

/** @param {Turn} turn */
function isClean({ disturbance }) {
  return disturbance() <= 1;
}

/** @param {readonly Turn[]} taken */
function countedOf(taken) {
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
export function describeQuality({ taken, counted, disturbed }, bestMs) {
  const text =
    `${taken} turns were taken. ${taken - counted} of them were thrown out: other processes had more than ${OTHERS_SHARE * 100} % of ` +
    `a core (steal included), or allocation took ${SLOWER_SHARE * 100} % longer than at its best (${bestMs.toFixed(1)} ms) right ` +
    `before or after. Of the ${counted} that count, ${disturbed} were disturbed like that.`;
  return disturbed * 10 > counted
    ? `${text} The machine is busy: run the benchmark again when it is idle.`
    : text;
}

/**
 * @template S
 * @param {Plan<S>} plan
 * @param {S} system
 * @returns {Promise<Turn>}
 */
async function takeTurn({ pids, helpers, prepare, probe, work }, system) {
  await prepare?.();
  const probeBefore = await probe.measure();
  await work(system, LEAD_MS);
  const read = () => ({
    at: performance.now(),
    measured: { ...coreMs(MEASURED_CORE), own: processorMs(pids(system)) },
    other: { ...coreMs(OTHER_CORE), own: processorMs(helpers) },
  });
  const before = read();
  const requests = await work(system, TURN_MS);
  const after = read();
  const probeAfter = await probe.measure();

  const ms = after.at - before.at;
  const othersOn = (/** @type {'measured' | 'other'} */ core) => {
    const grown = (/** @type {'busy' | 'stolen' | 'own'} */ what) => after[core][what] - before[core][what];
    return (grown('busy') - grown('own') + grown('stolen')) / ms;
  };
  const others = Math.max(othersOn('measured'), othersOn('other'));
  return {
    ms,
    requests,
    cpuMs: after.measured.own - before.measured.own,
    disturbance: () =>
      Math.max(others / OTHERS_SHARE, probe.slowdown(probeBefore, probeAfter) / SLOWER_SHARE),
  };
}
