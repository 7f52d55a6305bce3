import { statSync } from 'node:fs';
import { relative } from 'node:path';
import { root } from './launch.mjs';
import { LONG_TESTS, quickTests } from './test-selection.mjs';

/**
 * Starts long tests first, then those with a browser, then those with processes, and of each kind the largest file. So no worker
 * waits long for the last file, even on a fresh clone, where Jest's own sequencer knows no durations.
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

  /** Jest calls it after a run; there is nothing to remember. */
  cacheResults() {}
}
