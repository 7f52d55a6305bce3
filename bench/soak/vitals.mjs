import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** @typedef {import('./deployment.mjs').Life} Life */
/** @typedef {{ at: number, rss: number, heapUsed: number, lagMs: number }} Sample `at` by performance.now(), bytes. */

/** @typedef {Omit<Sample, 'at'> & { stalls: import('./stalls.mjs').Stall[] }} Vitals */

const EVERY_MS = 5_000;
/** The outcomes of a process that gave up on Redis because it got no CPU time. */
const STALLED = ['503 session_store_unavailable', '503 “Cloakroom is briefly unavailable”'];
/** Time after a stall in which the process may still reconnect to Redis. */
const AFTERWARDS_MS = 1_500;

/**
 * Samples every process while it runs, and records its stalls in the ledger.
 * @param {import('./deployment.mjs').TestApp} testApp
 * @param {import('./ledger.mjs').Ledger} ledger
 */
export function watchVitals(testApp, ledger) {
  /** @type {Map<Life, Sample[]>} */
  const samples = new Map();
  const stalled = { count: 0, ms: 0 };
  const over = new AbortController();
  const excuse = (/** @type {import('./stalls.mjs').Stall} */ { from, to }) => {
    stalled.count += 1;
    stalled.ms += to - from;
    const times = { from: from - performance.timeOrigin, to: to - performance.timeOrigin + AFTERWARDS_MS };
    ledger.open('a process stalled', STALLED, { ...times, isExcuse: true });
  };
  const sample = async (/** @type {Life} */ life) => {
    const { stalls, ...vitals } = /** @type {Vitals} */ (await life.ask());
    const ofLife = samples.get(life) ?? [];
    samples.set(life, ofLife);
    ofLife.push({ ...vitals, at: performance.now() });
    stalls.forEach(excuse);
  };
  const watching = (async () => {
    while (!over.signal.aborted) {
      const living = testApp.running.filter(({ isEnded, wasGone }) => !isEnded && !wasGone());
      // A process that ends meanwhile has no sample.
      await Promise.all(living.map(async (life) => sample(life).catch(() => {})));
      await delay(EVERY_MS);
    }
  })();
  return {
    samples,
    /** The number and total time of stalls that were longer than the Redis timeout. */
    stalled,
    async stop() {
      over.abort();
      await watching;
    },
  };
}

/**
 * Returns the growth of a figure per minute, by linear regression over the last three quarters of the samples.
 * @param {readonly Sample[]} samples
 * @param {'rss' | 'heapUsed'} what
 */
export function growthPerMinute(samples, what) {
  const late = samples.slice(Math.ceil(samples.length / 4));
  const mean = (/** @type {readonly number[]} */ values) =>
    values.reduce((sum, value) => sum + value, 0) / values.length;
  const middle = { at: mean(late.map(({ at }) => at)), value: mean(late.map((sample) => sample[what])) };
  let above = 0;
  let below = 0;
  for (const sample of late) {
    above += (sample.at - middle.at) * (sample[what] - middle.value);
    below += (sample.at - middle.at) ** 2;
  }
  return (above / below) * 60_000;
}

/** @param {number} pid */
export function openFiles(pid) {
  return readdirSync(`/proc/${pid}/fd`).length;
}
