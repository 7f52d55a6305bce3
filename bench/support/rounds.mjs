import { MEASURED_CORE, OTHER_CORE } from './cores.mjs';
import { coreCpuMs, cpuMsOf } from './cpu-time.mjs';

/** The length of a turn. Systems take short turns, one after the other, so that noise on the machine affects all of them. */
const TURN_MS = 300;
/**
 * The length of the unmeasured work before each turn. The turns of the other systems evict a system's memory from the CPU caches, so its
 * requests take more CPU time for about 150 ms.
 */
const WARM_UP_MS = 200;
/** The maximum fraction of either core that other processes may use during a clean turn. The kernel counts in 10 ms steps. */
const MAX_OTHERS_FRACTION = 0.1;
/** Maximum slowdown of the memory probe before and after a clean turn, compared with its best time. */
const MAX_SLOWDOWN = 0.2;
/** The maximum number of turns per system and round, as a multiple of the number of clean turns required. */
const MAX_TURNS_FACTOR = 4;
/** The minimum number of turns counted in a round. If there are fewer clean turns, the least disturbed turns are counted. */
const MIN_COUNTED = 3;

/**
 * @template S
 * @typedef {object} Plan
 * @property {readonly S[]} systems
 * @property {import('./memory-probe.mjs').MemoryProbe} probe
 * @property {number} seconds how long to measure each system
 * @property {(system: S) => readonly number[]} pids
 * @property {readonly number[]} helpers the benchmark's own processes on the other core
 * @property {() => Promise<void>} [prepare] runs before the warm-up of each turn
 * @property {(system: S, ms: number) => Promise<number>} work resolves to the number of requests
 * @property {number} firstTurn the index of the system that takes the first turn
 */
/** @typedef {{ ms: number, cpuMs: number, requests: number }} Measured */
/** @typedef {Measured & { disturbance: () => number }} Turn a turn with a disturbance of at most 1 is clean */
/** @typedef {{ taken: number, counted: number, disturbed: number }} Quality numbers of turns; `disturbed` turns were counted anyway */

/**
 * Measures the systems for one round, in turns. The preceding system affects the speed of a turn, so each cycle starts with a different
 * system, and every second cycle runs in reverse order. Each system runs turns until enough are clean, up to a limit.
 * @template S
 * @param {Plan<S>} plan
 * @returns {Promise<{ measured: (Measured & { cpuMsPerRequest: number })[], quality: Quality }>} `measured` is in the order of the systems
 */
export async function measureRound(plan) {
  const { systems, firstTurn } = plan;
  const wanted = Math.max(1, Math.round((plan.seconds * 1_000) / TURN_MS));
  // Take an uncounted turn first, because each system's connections closed while the other systems warmed up.
  for (const system of systems) await takeTurn(plan, system);
  const turns = systems.map((system) => ({ system, taken: /** @type {Turn[]} */ ([]) }));
  for (let cycle = 0; cycle < wanted * MAX_TURNS_FACTOR; cycle++) {
    const first = (firstTurn + cycle) % systems.length;
    const order = [...turns.slice(first), ...turns.slice(0, first)];
    for (const { system, taken } of cycle % 2 === 0 ? order : order.toReversed())
      if (taken.filter(isClean).length < wanted) taken.push(await takeTurn(plan, system));
  }
  const quality = { taken: 0, counted: 0, disturbed: 0 };
  const measured = turns.map(({ taken }) => {
    const counted = countedOf(taken);
    quality.taken += taken.length;
    quality.counted += counted.length;
    quality.disturbed += counted.filter((turn) => !isClean(turn)).length;
    const sum = (/** @type {keyof Measured} */ field) => counted.reduce((all, turn) => all + turn[field], 0);
    const [ms, cpuMs, requests] = [sum('ms'), sum('cpuMs'), sum('requests')];
    return { ms, cpuMs, requests, cpuMsPerRequest: cpuMs / requests };
  });
  return { measured, quality };
}

/**
 * Runs the rounds of a benchmark, prints its report and the quality of the turns, and stops the probe and the given processes.
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
    console.log(`\n${describeQuality(totalQuality(qualities), probe.bestMs())}`);
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
  if (clean.length >= MIN_COUNTED) return clean;
  return taken.toSorted((one, other) => one.disturbance() - other.disturbance()).slice(0, MIN_COUNTED);
}

/**
 * @param {readonly Quality[]} qualities
 * @returns {Quality}
 */
export function totalQuality(qualities) {
  const sum = (/** @type {keyof Quality} */ field) =>
    qualities.reduce((all, quality) => all + quality[field], 0);
  return { taken: sum('taken'), counted: sum('counted'), disturbed: sum('disturbed') };
}

/**
 * Describes how many turns were discarded and why.
 * @param {Quality} quality
 * @param {number} bestMs the best time of the memory probe
 */
export function describeQuality({ taken, counted, disturbed }, bestMs) {
  const text =
    `${taken - counted} of ${taken} turns were discarded, because other processes used more than ${MAX_OTHERS_FRACTION * 100} % of ` +
    `a core (including steal), or the memory probe was more than ${MAX_SLOWDOWN * 100} % slower than its best of ` +
    `${bestMs.toFixed(1)} ms. Of the ${counted} counted turns, ${disturbed} were also disturbed.`;
  return disturbed * 10 > counted
    ? `${text} The machine is busy. Run the benchmark again when it is idle.`
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
  await work(system, WARM_UP_MS);
  const read = () => ({
    at: performance.now(),
    measured: { ...coreCpuMs(MEASURED_CORE), own: cpuMsOf(pids(system)) },
    other: { ...coreCpuMs(OTHER_CORE), own: cpuMsOf(helpers) },
  });
  const before = read();
  const requests = await work(system, TURN_MS);
  const after = read();
  const probeAfter = await probe.measure();

  const ms = after.at - before.at;
  const othersOn = (/** @type {'measured' | 'other'} */ core) => {
    const spent = (/** @type {'busy' | 'stolen' | 'own'} */ field) =>
      after[core][field] - before[core][field];
    return (spent('busy') - spent('own') + spent('stolen')) / ms;
  };
  const others = Math.max(othersOn('measured'), othersOn('other'));
  return {
    ms,
    requests,
    cpuMs: after.measured.own - before.measured.own,
    disturbance: () =>
      Math.max(others / MAX_OTHERS_FRACTION, probe.slowdown(probeBefore, probeAfter) / MAX_SLOWDOWN),
  };
}
