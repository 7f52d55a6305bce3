import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** @typedef {import('./deployment.mjs').AppProcess} AppProcess */
/**
 * @typedef {object} Sample
 * @property {number} at a time from performance.now()
 * @property {number} rss in bytes
 * @property {number} heapUsed in bytes
 * @property {number} lagMs the maximum event loop delay since the last sample
 */
/** @typedef {Omit<Sample, 'at'> & { stalls: import('./stalls.mjs').Stall[] }} ProbeReply */

const SAMPLE_EVERY_MS = 5_000;
/** The outcomes of requests whose Redis commands timed out during a stall. */
const STALL_OUTCOMES = ['503 session_store_unavailable', '503 “Cloakroom is briefly unavailable”'];
/** After a stall, a process may take this long to reconnect to Redis. */
const STALL_RECOVERY_MS = 1_500;

/**
 * Samples every Cloakroom process while it runs and opens a window in the results for each stall.
 * @param {import('./deployment.mjs').TestApp} testApp
 * @param {import('./results.mjs').Results} results
 */
export function watchProcesses(testApp, results) {
  /** @type {Map<AppProcess, Sample[]>} */
  const samples = new Map();
  const stalls = { count: 0, ms: 0 };
  const controller = new AbortController();
  const recordStall = (/** @type {import('./stalls.mjs').Stall} */ { from, to }) => {
    stalls.count += 1;
    stalls.ms += to - from;
    const period = {
      from: from - performance.timeOrigin,
      to: to - performance.timeOrigin + STALL_RECOVERY_MS,
    };
    results.openWindow('a process stalled', STALL_OUTCOMES, { ...period, isStall: true });
  };
  const sample = async (/** @type {AppProcess} */ appProcess) => {
    const { stalls: newStalls, ...health } = /** @type {ProbeReply} */ (await appProcess.ask());
    const ofProcess = samples.get(appProcess) ?? [];
    samples.set(appProcess, ofProcess);
    ofProcess.push({ ...health, at: performance.now() });
    newStalls.forEach(recordStall);
  };
  const watching = (async () => {
    while (!controller.signal.aborted) {
      const alive = testApp.running.filter(({ isEndedByTest, hasExited }) => !isEndedByTest && !hasExited());
      // No sample is recorded for a process that ends before it replies.
      await Promise.all(alive.map(async (appProcess) => sample(appProcess).catch(() => {})));
      await delay(SAMPLE_EVERY_MS);
    }
  })();
  return {
    samples,
    /** The number of stalls and their total duration. */
    stalls,
    async stop() {
      controller.abort();
      await watching;
    },
  };
}

/**
 * Returns the growth per minute, by linear regression. Leaves out the first quarter of the samples, in which caches are still filling.
 * @param {readonly Sample[]} samples
 * @param {'rss' | 'heapUsed'} field
 */
export function growthPerMinute(samples, field) {
  const late = samples.slice(Math.ceil(samples.length / 4));
  const mean = (/** @type {readonly number[]} */ values) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const meanAt = mean(late.map(({ at }) => at));
  const meanValue = mean(late.map((sample) => sample[field]));
  let covariance = 0;
  let variance = 0;
  for (const sample of late) {
    covariance += (sample.at - meanAt) * (sample[field] - meanValue);
    variance += (sample.at - meanAt) ** 2;
  }
  return (covariance / variance) * 60_000;
}

/**
 * Counts the open files of a process.
 * @param {number} pid
 */
export function countOpenFiles(pid) {
  return readdirSync(`/proc/${pid}/fd`).length;
}
