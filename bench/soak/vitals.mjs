import { readdirSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** @typedef {import('./deployment.mjs').Life} Life */
/** @typedef {{ at: number, rss: number, heapUsed: number, lagMs: number }} Sample `at` by performance.now(), bytes. */

/** @typedef {Omit<Sample, 'at'> & { stalls: import('./stalls.mjs').Stall[] }} Told */

const EVERY_MS = 5_000;
/** What a process says that gave up on Redis for want of a processor, and nothing else. */
const WITHOUT_PROCESSOR = ['503 session_store_unavailable', '503 “Cloakroom is briefly unavailable”'];
/** So long after that it may still connect to Redis again. */
const AFTERWARDS_MS = 1_500;

/**
 * Looks at every process now and then, as long as it lives. Where the machine was too busy for it, the ledger is told.
 * @param {import('./deployment.mjs').TestApp} testApp
 * @param {import('./ledger.mjs').Ledger} ledger
 */
export function watchVitals(testApp, ledger) {
  /** @type {Map<Life, Sample[]>} */
  const samples = new Map();
  const starved = { count: 0, ms: 0 };
  const over = new AbortController();
  const excuse = (/** @type {import('./stalls.mjs').Stall} */ { from, to }) => {
    starved.count += 1;
    starved.ms += to - from;
    const times = { from: from - performance.timeOrigin, to: to - performance.timeOrigin + AFTERWARDS_MS };
    ledger.open('a process got no processor', WITHOUT_PROCESSOR, { ...times, isExcuse: true });
  };
  const look = async (/** @type {Life} */ life) => {
    const { stalls, ...told } = /** @type {Told} */ (await life.ask());
    const mine = samples.get(life) ?? [];
    samples.set(life, mine);
    mine.push({ ...told, at: performance.now() });
    stalls.forEach(excuse);
  };
  const watching = (async () => {
    while (!over.signal.aborted) {
      const living = testApp.running.filter(({ isEnded, wasGone }) => !isEnded && !wasGone());
      // One that ends just then says nothing any more.
      await Promise.all(living.map(async (life) => look(life).catch(() => {})));
      await delay(EVERY_MS);
    }
  })();
  return {
    samples,
    /** How often a process got no processor for longer than anyone waits for Redis, and for how long in all. */
    starved,
    async stop() {
      over.abort();
      await watching;
    },
  };
}

/**
 * How much a figure grows in a minute, by linear regression over what is left of the samples after their first quarter.
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
