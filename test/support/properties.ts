import { jest } from '@jest/globals';
import fc from 'fast-check';

/** Set by `npm run test:properties -- TIMES`; jest.config.mjs gives each test as many times its time. */
const TIMES = Number(process.env['PROPERTY_TIMES'] ?? 1);

/** How many runs, or milliseconds, a property gets in place of the `usual` number of `npm test`. */
export function times(usual: number): number {
  return usual * TIMES;
}

// Jest's seed, which scripts/jest.mjs fixes, unless CI draws a fresh one for the inputs alone (docs/decisions/0019).
fc.configureGlobal({ seed: Number(process.env['PROPERTY_SEED'] ?? jest.getSeed()), numRuns: times(100) });

/** fast-check with that seed. The linter makes all properties import it from here. */
export { fc };
