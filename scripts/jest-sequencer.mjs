import { statSync } from 'node:fs';
import { relative } from 'node:path';
import { root } from './launch.mjs';
import { LONG_TESTS, quickTests } from './test-selection.mjs';

/**
 * Sorts test files: long tests first, then tests with a browser, then tests with processes. Within each group, the largest file comes
 * first. With this order, all workers finish at about the same time, even on a fresh clone without recorded durations.
 */
export default class SlowKindsFirst {
  /** @param {{ path: string }[]} tests */
  sort(tests) {
    const quick = new Set(quickTests());
    const kindOf = (/** @type {string} */ path) =>
      [LONG_TESTS.includes(path), path.startsWith('test/browser/'), !quick.has(path), true].indexOf(true);
    return tests
      .map((test) => ({ test, kind: kindOf(relative(root, test.path)), size: statSync(test.path).size }))
      .toSorted((a, b) => a.kind - b.kind || b.size - a.size)
      .map(({ test }) => test);
  }

  /** Does nothing. Jest calls this method after a run. */
  cacheResults() {}
}
