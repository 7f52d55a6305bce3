import { setTimeout as delay } from 'node:timers/promises';
import { LASTS_MS, mishaps } from './mishaps.mjs';

/** @typedef {import('./deployment.mjs').TestApp} TestApp */
/** @typedef {import('./ledger.mjs').Ledger} Ledger */
/** @typedef {import('./mishaps.mjs').Mishap} Mishap */
/** @typedef {import('./random.mjs').Random} Random */

/** Time between a recovery and the next mishap, in ms: a random value in this range. */
const CALM = /** @type {const} */ ([2_000, 6_000]);

/**
 * Creates the sequence of mishaps, in random order, for this time.
 * @param {TestApp} testApp
 * @param {Ledger} ledger
 * @param {Random} random
 * @param {number} ms
 */
export function createMisfortune(testApp, ledger, random, ms) {
  const half = performance.now() + ms / 2;
  const end = performance.now() + ms;
  const all = mishaps(() => performance.now() > half);
  const counts = new Map(all.map(({ name }) => [name, 0]));
  return {
    /** How often each has happened. */
    counts,
    async suffer() {
      for (;;) {
        for (const mishap of random.shuffle(all)) {
          const takes = CALM[1] + (mishap.lastsMs ?? LASTS_MS) + mishap.recoveryMs;
          if (performance.now() + takes > end) return;
          await delay(random.between(...CALM));
          await suffer(mishap, testApp, ledger);
          counts.set(mishap.name, (counts.get(mishap.name) ?? 0) + 1);
        }
      }
    },
  };
}

/**
 * Runs a mishap. Resolves when everything must work again.
 * @param {Mishap} mishap
 * @param {TestApp} testApp
 * @param {Ledger} ledger
 */
async function suffer({ name, allows, losesTokens, recoveryMs, begin, lastsMs = 0, end }, testApp, ledger) {
  const window = ledger.open(name, allows, { losesTokens });
  await begin(testApp);
  await delay(lastsMs);
  await end?.(testApp);
  window.to = performance.now() + recoveryMs;
  await delay(recoveryMs);
}
