import { setTimeout as delay } from 'node:timers/promises';
import { LASTS_MS, mishaps } from './mishaps.mjs';

/** @typedef {import('./deployment.mjs').TestApp} TestApp */
/** @typedef {import('./ledger.mjs').Ledger} Ledger */
/** @typedef {import('./mishaps.mjs').Mishap} Mishap */
/** @typedef {import('./random.mjs').Random} Random */

/** After each recovery, and until the next mishap, nothing is broken: in ms, by chance. */
const CALM = /** @type {const} */ ([2_000, 6_000]);

/**
 * One mishap after the other, in an order of chance, for so long.
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
    /** How often each has been suffered. */
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
 * Resolves when everything must be as ever again.
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
