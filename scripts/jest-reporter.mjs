import { relative } from 'node:path';
import { root } from './launch.mjs';

/**
 * @typedef {object} FileResult Jest's result for a test file.
 * @property {string} testFilePath
 * @property {{ runtime: number }} perfStats in ms
 * @property {number} numFailingTests
 * @property {unknown} [testExecError] why the file could not run
 * @property {{ fullName: string, status: string }[]} testResults
 */

const SLOWEST = 20;
/** Matches the reason in the name of a skipped test or of its describe block. */
const HAS_REASON = /\(skipped: .+\)/;

/** At the end of a run, prints the slowest files, the skipped tests, and the command that reruns the failed files. */
export default class ClosingReporter {
  /** @param {{ seed: number, testNamePattern?: string }} globalConfig */
  constructor({ seed, testNamePattern }) {
    this.seed = seed;
    this.isOfNames = Boolean(testNamePattern);
  }

  /**
   * @param {unknown} _
   * @param {{ testResults: FileResult[] }} results
   */
  onRunComplete(_, { testResults }) {
    const files = testResults.map((result) => ({ ...result, path: relative(root, result.testFilePath) }));
    const slowest = files.toSorted((a, b) => b.perfStats.runtime - a.perfStats.runtime).slice(0, SLOWEST);
    if (files.length > SLOWEST) {
      print(
        `Slowest ${SLOWEST} files:`,
        slowest.map(
          ({ path, perfStats }) => `${(perfStats.runtime / 1_000).toFixed(1).padStart(5)} s  ${path}`,
        ),
      );
    }
    const skipped = files.flatMap(({ path, testResults: tests }) =>
      tests
        .filter(({ status }) => status !== 'passed' && status !== 'failed')
        .map(
          ({ fullName }) => `${path}: ${fullName}${HAS_REASON.test(fullName) ? '' : ' (no reason given)'}`,
        ),
    );
    // With a name pattern, Jest also counts the excluded tests as skipped.
    if (!this.isOfNames) print('Skipped tests:', skipped);
    const failed = files.filter(({ numFailingTests, testExecError }) => numFailingTests > 0 || testExecError);
    // In test-containers.mjs, REPEAT_COMMAND is empty, because options go to `docker build`.
    if (failed.length > 0 && process.env['REPEAT_COMMAND'] !== '') {
      const { PROPERTY_SEED, REPEAT_COMMAND = 'npm test --' } = process.env; // scripts/check.mjs, scripts/jest.mjs
      const inputs = PROPERTY_SEED === undefined ? '' : `PROPERTY_SEED=${PROPERTY_SEED} `;
      const paths = failed.map(({ path }) => path).join(' ');
      print('To repeat with the same order and generated inputs:', [
        `${inputs}${REPEAT_COMMAND} --seed=${this.seed} ${paths}`,
      ]);
    }
  }
}

/**
 * @param {string} title
 * @param {readonly string[]} lines
 */
function print(title, lines) {
  if (lines.length > 0) console.log(`\n${title}\n${lines.map((line) => `  ${line}`).join('\n')}`);
}
