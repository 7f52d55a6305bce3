import { jest } from '@jest/globals';
import fc from 'fast-check';

/** The factor set by `npm run test:properties -- TIMES`. jest.config.mjs multiplies the test timeout by the same factor. */
const TIMES = Number(process.env['PROPERTY_TIMES'] ?? 1);

/** Scales a property's number of runs, or its time in ms. `amount` is the value under `npm test`. */
export function scaled(amount: number): number {
  return amount * TIMES;
}

// Use Jest's seed, which scripts/jest.mjs fixes, unless CI sets a separate seed for the generated inputs (docs/decisions/0019).
fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? jest.getSeed()), numRuns: scaled(100) });

/** fast-check with the configured seed. The linter requires all property tests to import fast-check from here. */
export { fc };
