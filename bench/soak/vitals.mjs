import { readdirSync } from 'node:fs';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

/** @typedef {import('./house.mjs').Life} Life */
/** @typedef {{ at: number, rss: number, heapUsed: number, lagMs: number }} Sample `at` by performance.now(), bytes. */

const EVERY_MS = 5_000;
/** One that got no processor for so long gave up on Redis and the service, though they had answered. */
const STARVED_MS = 400;
/** And so long after that, somebody may still have waited for it. */
const AFTERWARDS_MS = 2_000;

/**
 * Looks at every process now and then, as long as it lives. Where the machine was too busy for it, the ledger is told.
 * @param {import('./house.mjs').House} house
 * @param {import('./ledger.mjs').Ledger} ledger
 */
export function watchVitals(house, ledger) {
  /** @type {Map<Life, Sample[]>} */
  const samples = new Map();
  const starved = { count: 0 };
  const over = new AbortController();
  /**
   * @param {number} lagMs
   * @param {number} since by performance.now()
   */
  const judgeLag = (lagMs, since) => {
    if (lagMs < STARVED_MS) return;
    starved.count += 1;
    const window = ledger.open('a process got no processor', /^50[234]|^half an answer$/, since);
    window.to = performance.now() + AFTERWARDS_MS;
  };
  const own = monitorEventLoopDelay({ resolution: 10 });
  own.enable();
  const look = async (/** @type {Life} */ life) => {
    const told = /** @type {Omit<Sample, 'at'>} */ (await life.ask());
    const mine = samples.get(life) ?? [];
    samples.set(life, mine);
    const lastAt = mine.at(-1)?.at ?? life.bornAt;
    mine.push({ ...told, at: performance.now() });
    judgeLag(told.lagMs, lastAt);
  };
  const watching = (async () => {
    while (!over.signal.aborted) {
      const living = house.running.filter(({ isEnded, wasGone }) => !isEnded && !wasGone());
      // One that ends just then says nothing any more.
      await Promise.all(living.map(async (life) => look(life).catch(() => {})));
      judgeLag(own.max / 1e6, performance.now() - EVERY_MS);
      own.reset();
      await delay(EVERY_MS);
    }
  })();
  return {
    samples,
    /** How often a process got no processor for a while. */
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
