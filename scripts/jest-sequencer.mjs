import { statSync } from 'node:fs';
import { relative } from 'node:path';
import { root } from './launch.mjs';
import { quickTests } from './test-selection.mjs';

/**
 * Starts tests with a browser or processes first, and of each kind the largest file first: so no worker waits long for the last file.
 * The order is the same on a fresh clone, where Jest's own knows no durations yet.
 */
export default class SlowKindsFirst {
  /** @param {{ path: string }[]} tests */
  sort(tests) {
    const quick = new Set(quickTests());
    return tests
      .map((test) => ({
        test,
        isQuick: quick.has(relative(root, test.path)),
        size: statSync(test.path).size,
      }))
      .toSorted((a, b) => Number(a.isQuick) - Number(b.isQuick) || b.size - a.size)
      .map(({ test }) => test);
  }

  /** Jest calls it after a run; there is nothing to remember. */
  cacheResults() {}
}
